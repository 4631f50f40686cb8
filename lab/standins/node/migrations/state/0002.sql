-- What was in `prover` is `prover_id` from here on, and a time takes the place of the flag `generating`.
ALTER TABLE state.proof
  ADD COLUMN prover_id VARCHAR,
  ADD COLUMN created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW(),
  ADD COLUMN updated_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW(),
  ADD COLUMN generating_since TIMESTAMP WITH TIME ZONE;
UPDATE state.proof SET prover_id = prover, prover = NULL, generating_since = CASE WHEN generating THEN NOW() END;
ALTER TABLE state.proof DROP COLUMN generating;

CREATE INDEX transaction_l2_block_num_idx ON state.transaction (l2_block_num);
CREATE INDEX l2block_batch_num_idx ON state.l2block (batch_num);
CREATE INDEX l2block_received_at_idx ON state.l2block (received_at);
CREATE INDEX batch_timestamp_idx ON state.batch (timestamp);
CREATE INDEX log_tx_hash_idx ON state.log (tx_hash);
CREATE INDEX log_address_idx ON state.log (address);

ALTER TABLE state.virtual_batch
  ADD COLUMN sequencer_addr VARCHAR DEFAULT '0x0000000000000000000000000000000000000000';

CREATE TABLE state.trusted_reorg (
  timestamp TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW(),
  batch_num BIGINT,
  reason VARCHAR NOT NULL
);
