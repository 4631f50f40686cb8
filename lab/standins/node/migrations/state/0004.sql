ALTER TABLE state.transaction ADD COLUMN l2_hash VARCHAR;
ALTER TABLE state.receipt ADD COLUMN effective_gas_price BIGINT;
ALTER TABLE state.batch ADD COLUMN wip BOOLEAN NOT NULL DEFAULT FALSE;
