import { Problem } from '../../engine/problem/problem.ts';
import type { Context } from '../../engine/resource/role.ts';
import { backupHost } from '../backup/source.ts';
import { databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

/** A recovery that the operator asks for. */
export interface AskedRecovery {
  /** Such as 2026-11-22T18:00:00Z, or `latest` for all that the backup has. */
  readonly time: string;
  readonly isDrill: boolean;
  /** Whether another data directory may be put aside. It is kept. */
  readonly setsAside: boolean;
}

/**
 * Reads the options of the playbook.
 *
 * @returns undefined in a run that recovers nothing
 * @throws Problem for another server than that of the inventory, and for an inventory without a
 * backup
 */
export function askedRecovery({ hosts, given }: Context<Variables>): AskedRecovery | undefined {
  const time = given['to-time'];
  if (time === undefined) return undefined;
  const server = databaseHost(hosts).name;
  const { 'to-server': named = server } = given;
  if (named !== server) {
    throw new Problem(`--to-server ${named}: the Database+Sync server of the inventory is ${server}`, {
      hint: 'name the new server in group database of the inventory, in place of the lost one',
    });
  }
  if (backupHost(hosts) === undefined) {
    throw new Problem('there is no backup: the inventory has no host in group backup', {
      hint: 'a lost database starts from the snapshot again: deploy.mjs',
    });
  }
  return { time, isDrill: given.drill !== undefined, setsAside: given['set-aside'] !== undefined };
}
