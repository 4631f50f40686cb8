ALTER TABLE pool.transaction ADD COLUMN is_wip BOOLEAN;
