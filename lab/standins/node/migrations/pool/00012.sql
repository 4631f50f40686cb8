-- This chain's own.
ALTER TABLE pool.transaction ADD COLUMN priority BIGINT DEFAULT 0;
