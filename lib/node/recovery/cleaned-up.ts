import { command } from '../../engine/host/step.ts';
import { drift, ok, type Resource, task } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';
import {
  certificateFile,
  fetchedFolder,
  markIn,
  offeredFolder,
  passwordFile,
  servingUnit,
  servingUnitTls,
} from './paths.ts';

const serving = [servingUnit, servingUnitTls].map((name) => `${name}.service`);

/** After a recovery only the recovered databases stay. The next recovery starts from nothing. */
export function nothingIsLeft({ vars, host: { groups } }: Context<Variables>): Resource {
  const isBackup = groups.includes('backup');
  const left = isBackup ? offeredFolder(vars) : markIn(dataFolder(vars, 'state-db'));
  const fetched = fetchedFolder(vars);
  return task('nothing is left of the recovery', {
    check: async (host) => {
      const [stat, copy, ...units] = await Promise.all([
        host.stat(left),
        isBackup ? host.stat(fetched) : undefined,
        ...serving.map((name) => host.unit(name)),
      ]);
      const running = serving.filter((_, at) => units[at]?.active === 'active');
      if (!stat && !copy && running.length === 0) return ok;
      const stop = running.length > 0 ? [command`systemctl stop ${running}`] : [];
      const all = copy ? [left, fetched] : [left];
      return drift(`${stat ? left : fetched} is there`, [
        ...stop,
        command`rm -rf ${all} ${passwordFile} ${certificateFile}`,
      ]);
    },
  });
}
