ALTER TABLE pool.transaction ADD COLUMN failed_reason VARCHAR;
