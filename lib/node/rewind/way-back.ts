import { drift, type EveryHost, ok } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { copyFault, readBackups } from '../status/backup.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * Before anything stops: the backup can bring the deleted blocks back. A rewind to a typed block
 * needs no way back.
 */
export function backupIsWhole({ hosts, given }: Context<Variables>): EveryHost {
  return {
    name: 'the backup is whole',
    check: async (host) => {
      const isBackup = hosts.some(({ name, groups }) => name === host.name && groups.includes('backup'));
      if (!isBackup || given.to !== undefined) return ok;
      const findings = await readBackups(host);
      const faults = findings.filter(({ is, fault }) => fault && is !== copyFault);
      return faults.length === 0 ? ok : drift(faults.map(({ says }) => says).join('; '));
    },
    hint: 'the backup is the way back after a rewind: repair it (docs/data.md), or type the number of the block with --to',
  };
}
