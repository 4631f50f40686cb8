/**
 * Spec part 2, "Snapshot recovery", step 6. Without a method in the table, PostgreSQL creates a
 * btree.
 */
export const indexes: readonly (readonly [index: string, table: string, columns: string])[] = [
  ['l2block_block_hash_idx', 'state.l2block', 'block_hash'],
  ['l2block_created_at_idx', 'state.l2block', 'created_at'],
  ['log_log_index_idx', 'state.log', 'log_index'],
  ['log_topic0_idx', 'state.log', 'topic0'],
  ['log_topic1_idx', 'state.log', 'topic1'],
  ['log_topic2_idx', 'state.log', 'topic2'],
  ['log_topic3_idx', 'state.log', 'topic3'],
  ['idx_receipt_tx_index', 'state.receipt', 'block_num, tx_index'],
  ['receipt_block_num_idx', 'state.receipt', 'block_num'],
];
