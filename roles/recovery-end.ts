import { command } from '../lib/engine/host/step.ts';
import { drift, ok, task } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { dataOf, mark, passwordFile, serving, stagedFolder } from './recovery.ts';

/** After a recovery only the recovered databases stay. The next recovery starts from nothing. */
export default role<Variables>('recovery-end', ({ vars, given, host: { groups } }) => {
  if (given['to-time'] === undefined || given.drill !== undefined) return [];
  const isBackup = groups.includes('backup');
  const left = isBackup ? stagedFolder(vars) : mark(dataOf(vars));
  const cleanedUp = task('nothing is left of the recovery', {
    check: async (host) => {
      const [stat, unit] = await Promise.all([host.stat(left), host.unit(`${serving}.service`)]);
      if (!stat && unit.active !== 'active') return ok;
      const stop = isBackup ? [command`systemctl stop ${serving}.service`] : [];
      return drift(`${left} is there`, [...stop, command`rm -rf ${left} ${passwordFile}`]);
    },
  });
  return [cleanedUp];
});
