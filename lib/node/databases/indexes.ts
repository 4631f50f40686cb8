import type { SqlTarget } from '../../engine/host/host.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { indexesHaveTheirColumns, postgresIndex } from './postgres.ts';

/** The extra indexes of the state database (spec, Snapshot recovery). */
const indexes: readonly (readonly [name: string, table: string, ...columns: string[]])[] = [
  ['l2block_block_hash_idx', 'state.l2block', 'block_hash'],
  ['l2block_created_at_idx', 'state.l2block', 'created_at'],
  ['log_log_index_idx', 'state.log', 'log_index'],
  ['log_topic0_idx', 'state.log', 'topic0'],
  ['log_topic1_idx', 'state.log', 'topic1'],
  ['log_topic2_idx', 'state.log', 'topic2'],
  ['log_topic3_idx', 'state.log', 'topic3'],
  ['idx_receipt_tx_index', 'state.receipt', 'block_num', 'tx_index'],
  ['receipt_block_num_idx', 'state.receipt', 'block_num'],
];

/**
 * @param target the state database
 */
export function stateIndexes(target: SqlTarget): readonly Resource[] {
  const all = indexes.map(([name, table, ...columns]) => ({ target, name, table, columns }));
  return [...all.map(postgresIndex), indexesHaveTheirColumns(all)];
}
