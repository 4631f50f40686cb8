UPDATE pool.transaction SET ip = '' WHERE ip IS NULL;
ALTER TABLE pool.transaction ALTER COLUMN ip SET NOT NULL, ALTER COLUMN ip SET DEFAULT '';
