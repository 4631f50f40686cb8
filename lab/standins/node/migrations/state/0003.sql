CREATE TABLE state.receipt (
  tx_hash VARCHAR PRIMARY KEY REFERENCES state.transaction (hash) ON DELETE CASCADE,
  type INTEGER,
  post_state BYTEA,
  status BIGINT,
  cumulative_gas_used BIGINT,
  gas_used BIGINT,
  block_num BIGINT NOT NULL REFERENCES state.l2block (block_num) ON DELETE CASCADE,
  tx_index INTEGER,
  contract_address VARCHAR
);

CREATE TABLE state.log (
  tx_hash VARCHAR NOT NULL REFERENCES state.transaction (hash) ON DELETE CASCADE,
  log_index INTEGER,
  address VARCHAR NOT NULL,
  data VARCHAR,
  topic0 VARCHAR NOT NULL,
  topic1 VARCHAR,
  topic2 VARCHAR,
  topic3 VARCHAR,
  PRIMARY KEY (tx_hash, log_index)
);
