ALTER TABLE pool.transaction ADD COLUMN deposit_count BIGINT;
