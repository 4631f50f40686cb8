import { readScript } from '../../engine/host/script.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { hbaAddress, hbaLines } from '../databases/hba.ts';
import { databaseRole } from '../monitor/statistics-role.ts';
import { addressesOf } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

const script = readScript(
  hbaLines,
  new URL('../../../templates/host/replication-source.sh', import.meta.url),
);

/** The role that copies the database server for backups, and nothing else. */
export const backupRole = 'rpc_node_backup';

/** The host that keeps the backups; undefined without one. */
export function backupHost(hosts: Context<Variables>['hosts']): InventoryHost<Variables> | undefined {
  return hosts.find(({ groups }) => groups.includes('backup'));
}

/**
 * The database server lets hosts copy it: a role with a password of its own, lines in pg_hba.conf
 * for the addresses of the hosts, and a limit for what is kept for them, so that one that does not
 * fetch it never stops the server. None of it needs a restart.
 *
 * @param group of the hosts @param hosts the backup host, or the replicas; none: nothing of it is
 * there
 * @param slots of replicas, which have nothing else to make them
 */
export function serverLetsItselfBeCopied(
  { vars }: Context<Variables>,
  group: 'backup' | 'replica',
  hosts: readonly InventoryHost<Variables>[],
  slots: readonly string[] = [],
): Resource {
  const { user, database } = vars.credentials.state;
  const addresses = hosts.flatMap(addressesOf).map(hbaAddress);
  const password = vars[group].password;
  const known = [`rpc_node_${group}`, user, database, vars.ports.state_db, vars.backup.most_kept];
  const kind = vars.tls ? 'hostssl' : 'host';
  const words = [`${group}-source`, ...known, slots.toSorted().join(' '), kind, ...addresses];
  const who = hosts.map(({ name }) => name).join(', ') || 'no replica';
  return databaseRole(
    `${who} may copy the database server`,
    script,
    words,
    password && { stdin: new Secret(`${password.reveal()}\n`) },
  );
}
