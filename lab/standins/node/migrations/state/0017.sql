ALTER TABLE state.receipt ADD COLUMN IF NOT EXISTS im_state_root BYTEA;

-- From fork 7 on, what was recorded as the state after a transaction is the intermediate one.
UPDATE state.receipt SET im_state_root = post_state
WHERE block_num >= (
  SELECT MIN(l2block.block_num) FROM state.l2block
  JOIN state.fork_id ON fork_id.fork_id = 7 AND l2block.batch_num >= fork_id.from_batch_num
);
