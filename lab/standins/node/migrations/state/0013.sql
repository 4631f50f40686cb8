ALTER TABLE state.exit_root
  ADD COLUMN IF NOT EXISTS prev_block_hash BYTEA,
  ADD COLUMN IF NOT EXISTS l1_info_root BYTEA,
  ADD COLUMN IF NOT EXISTS l1_info_tree_index BIGINT UNIQUE;
CREATE INDEX IF NOT EXISTS idx_exit_root_l1_info_tree_index ON state.exit_root (l1_info_tree_index);

ALTER TABLE state.transaction ADD COLUMN IF NOT EXISTS l2_hash VARCHAR UNIQUE;
CREATE INDEX IF NOT EXISTS idx_transaction_l2_hash ON state.transaction (l2_hash);

ALTER TABLE state.batch ADD COLUMN IF NOT EXISTS wip BOOLEAN NOT NULL DEFAULT FALSE;

ALTER TABLE state.virtual_batch
  ADD COLUMN IF NOT EXISTS timestamp_batch_etrog TIMESTAMP WITH TIME ZONE,
  ADD COLUMN IF NOT EXISTS l1_info_root VARCHAR;
