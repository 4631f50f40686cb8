CREATE SCHEMA state;

-- Layer-1 blocks.
CREATE TABLE state.block (
  block_num BIGINT PRIMARY KEY,
  block_hash VARCHAR NOT NULL,
  parent_hash VARCHAR,
  received_at TIMESTAMP WITH TIME ZONE NOT NULL
);

CREATE TABLE state.batch (
  batch_num BIGINT PRIMARY KEY,
  global_exit_root VARCHAR,
  local_exit_root VARCHAR,
  acc_input_hash VARCHAR,
  state_root VARCHAR,
  timestamp TIMESTAMP WITH TIME ZONE,
  coinbase VARCHAR,
  raw_txs_data BYTEA
);

CREATE TABLE state.virtual_batch (
  batch_num BIGINT PRIMARY KEY REFERENCES state.batch (batch_num) ON DELETE CASCADE,
  tx_hash VARCHAR,
  coinbase VARCHAR,
  block_num BIGINT
);

CREATE TABLE state.verified_batch (
  batch_num BIGINT PRIMARY KEY REFERENCES state.virtual_batch (batch_num) ON DELETE CASCADE,
  tx_hash VARCHAR,
  aggregator VARCHAR,
  block_num BIGINT
);
