ALTER TABLE state.batch ADD COLUMN high_reserved_counters JSONB;
