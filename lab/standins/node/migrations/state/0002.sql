CREATE TABLE state.l2block (
  block_num BIGINT PRIMARY KEY,
  block_hash VARCHAR NOT NULL,
  header JSONB,
  uncles JSONB,
  parent_hash VARCHAR,
  state_root VARCHAR,
  received_at TIMESTAMP WITH TIME ZONE NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW(),
  batch_num BIGINT NOT NULL REFERENCES state.batch (batch_num) ON DELETE CASCADE
);

CREATE TABLE state.transaction (
  hash VARCHAR PRIMARY KEY,
  encoded VARCHAR,
  decoded JSONB,
  l2_block_num BIGINT NOT NULL REFERENCES state.l2block (block_num) ON DELETE CASCADE,
  effective_percentage SMALLINT
);
