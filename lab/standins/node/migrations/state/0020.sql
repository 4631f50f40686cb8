-- Blocks of layer 1 in which nothing happened are not kept.
DELETE FROM state.block WHERE block_num NOT IN (
  SELECT block_num FROM state.virtual_batch
  UNION SELECT block_num FROM state.verified_batch
  UNION SELECT block_num FROM state.forced_batch
  UNION SELECT block_num FROM state.exit_root
  UNION SELECT block_num FROM state.monitored_txs WHERE block_num IS NOT NULL
  UNION SELECT block_num FROM state.fork_id
);
