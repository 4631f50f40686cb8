import type { Reader } from '../../engine/host/host.ts';
import { drift, type EveryHost, ok, refused, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { repositoryOf } from '../backup/folders.ts';
import { newestBase } from '../backup/newest-base.ts';
import { backupHost } from '../backup/source.ts';
import { checkSnapshot, wrongPieces } from '../snapshot/unpacked.ts';
import { copyFault, readBackups } from '../status/backup.ts';
import type { Variables } from '../variables/variables.ts';
import type { Rewind } from './found.ts';

/**
 * Before anything stops: the backup can bring the deleted blocks back, and the plan says from when
 * on. A rewind to a typed block needs no way back.
 */
export function backupIsWhole({ hosts, given }: Context<Variables>): EveryHost {
  return {
    name: 'the backup is whole',
    check: async (host) => {
      const backup = backupHost(hosts);
      if (host.name !== backup?.name) return ok;
      const [findings, since] = await Promise.all([
        readBackups(host),
        newestBase(host, repositoryOf(backup.vars)),
      ]);
      const faults = findings.filter(({ is, fault }) => fault && is !== copyFault).map(({ says }) => says);
      if (faults.length > 0 && given.to === undefined) return drift(faults.join('; '));
      const says =
        faults.length > 0
          ? ` is no way back: ${faults.join('; ')}`
          : ` has a base backup of ${since}, and the log since then`;
      return { is: 'ok', note: host.name + says };
    },
    hint: 'the backup is the way back after a rewind: repair it (docs/data.md), or type the number of the block with --to',
  };
}

/**
 * Before anything stops: the physical snapshot can be downloaded, where it alone brings back what
 * goes. A rewind to a typed block needs no way back: there, what is wrong is a note.
 */
export async function snapshotIsThere(
  host: Reader,
  { layer2 }: Rewind,
  { hosts, vars, given }: Context<Variables>,
): Promise<Verdict> {
  if (!layer2?.kept || backupHost(hosts)) return ok;
  const problems = await wrongPieces(host, layer2.kept, vars.snapshot.s3);
  if (problems === '') return ok;
  if (given.to !== undefined) return { is: 'ok', note: `the physical snapshot is no way back: ${problems}` };
  return refused(
    `the way back is the physical snapshot: ${problems}`,
    `${checkSnapshot}, or look at what goes, and type its number: --to ${layer2.left.block}`,
  );
}
