CREATE TABLE IF NOT EXISTS state.fork_id (
  fork_id BIGINT PRIMARY KEY,
  from_batch_num NUMERIC NOT NULL,
  to_batch_num NUMERIC NOT NULL,
  version VARCHAR,
  block_num BIGINT NOT NULL REFERENCES state.block (block_num) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS receipt_block_num_idx ON state.receipt USING btree (block_num);
