ALTER TABLE state.block ADD COLUMN IF NOT EXISTS checked BOOLEAN NOT NULL DEFAULT FALSE;

-- Only the newest 1000 may still change on layer 1.
UPDATE state.block SET checked = TRUE WHERE block_num <= (SELECT MAX(block_num) FROM state.block) - 1000;
