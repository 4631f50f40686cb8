import type { Variables } from './variables.ts';

export type NetworkKind = Variables['network']['kind'];

/**
 * The name of a snapshot archive (spec part 2, "Snapshot recovery"):
 * `testnet_state_db.sql.tar.gz`.
 */
export function archiveName(kind: NetworkKind, store: 'state' | 'prover'): string {
  return `${kind === 'test' ? 'testnet_' : ''}${store}_db.sql.tar.gz`;
}
