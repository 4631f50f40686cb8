CREATE INDEX l2block_block_hash_idx ON state.l2block (block_hash);
CREATE INDEX l2block_created_at_idx ON state.l2block (created_at);
CREATE INDEX log_log_index_idx ON state.log (log_index);
CREATE INDEX log_topic0_idx ON state.log (topic0);
CREATE INDEX log_topic1_idx ON state.log (topic1);
CREATE INDEX log_topic2_idx ON state.log (topic2);
CREATE INDEX log_topic3_idx ON state.log (topic3);
CREATE INDEX idx_receipt_tx_index ON state.receipt (block_num, tx_index);
CREATE INDEX receipt_block_num_idx ON state.receipt USING btree (block_num);
