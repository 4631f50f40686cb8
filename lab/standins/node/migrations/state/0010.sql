CREATE INDEX IF NOT EXISTS l2block_block_hash_idx ON state.l2block (block_hash);

-- One row for each batch is left, then it can be a key.
DELETE FROM state.sequences later USING state.sequences earlier
WHERE later.from_batch_num = earlier.from_batch_num AND later.ctid > earlier.ctid;
ALTER TABLE state.sequences ADD PRIMARY KEY (from_batch_num);
ALTER TABLE state.trusted_reorg ADD PRIMARY KEY (timestamp);
ALTER TABLE state.sync_info ADD PRIMARY KEY (last_batch_num_seen, last_batch_num_consolidated, init_sync_batch);
