ALTER TABLE state.batch ADD COLUMN batch_resources JSONB, ADD COLUMN closing_reason VARCHAR;
