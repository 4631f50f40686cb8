-- A log may have no topic at all.
ALTER TABLE state.log ALTER COLUMN topic0 DROP NOT NULL;
