import { readFileSync } from 'node:fs';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { databaseRole } from '../monitor/statistics-role.ts';
import { addressesOf } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

const script = readFileSync(new URL('../../../templates/host/backup-source.sh', import.meta.url), 'utf8');

/** The role that copies the database server, and nothing else. */
export const backupRole = 'rpc_node_backup';

/** The host that keeps the backups; undefined without one. */
export function backupHost(hosts: Context<Variables>['hosts']): InventoryHost<Variables> | undefined {
  return hosts.find(({ groups }) => groups.includes('backup'));
}

/**
 * The database server lets the backup host copy it: a role with a password of its own, a line in pg_hba.conf for the host's addresses,
 * and a limit for what is kept for it, so that a repository that is full never stops the server. None of it needs a restart.
 *
 * @param backup the host that keeps the backups
 */
export function serverLetsItselfBeCopied({ vars }: Context<Variables>, backup: InventoryHost<Variables>): Resource {
  const { user, database } = vars.credentials.state;
  const addresses = addressesOf(backup).map((each) => {
    if (each.includes('/') || !/^[\d.]+$|:/.test(each)) return each;
    return each.includes(':') ? `${each}/128` : `${each}/32`;
  });
  const { password, most_kept } = vars.backup;
  const stdin = new Secret(`${password?.reveal()}\n`);
  const words = ['backup-source', backupRole, user, database, vars.ports.state_db, most_kept, ...addresses];
  return databaseRole(`${backup.name} may copy the database server`, script, words, { stdin });
}
