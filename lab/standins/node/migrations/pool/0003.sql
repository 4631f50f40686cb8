ALTER TABLE pool.transaction DROP COLUMN failed_counter, ADD COLUMN ip VARCHAR;
