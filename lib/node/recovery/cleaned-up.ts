import { command } from '../../engine/host/step.ts';
import { drift, ok, type Resource, task } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';
import {
  certificateFile,
  copyKeyFile,
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
  const places = isBackup
    ? [offeredFolder(vars), fetchedFolder(vars), copyKeyFile]
    : [markIn(dataFolder(vars, 'state-db'))];
  return task('nothing is left of the recovery', {
    check: async (host) => {
      const [stats, units] = await Promise.all([
        Promise.all(places.map((path) => host.stat(path))),
        Promise.all(serving.map((name) => host.unit(name))),
      ]);
      const left = places.filter((_, at) => stats[at]);
      const running = serving.filter((_, at) => units[at]?.active === 'active');
      if (left.length === 0 && running.length === 0) return ok;
      const stop = running.length > 0 ? [command`systemctl stop ${running}`] : [];
      return drift(left.length > 0 ? `${left.join(', ')} is there` : `${running.join(', ')} runs`, [
        ...stop,
        command`rm -rf ${places} ${passwordFile} ${certificateFile}`,
      ]);
    },
  });
}

/**
 * What sync writes is of no recovery, also where a deploy ends one that was interrupted: a later
 * recovery must not find its mark.
 */
export function noMarkIsLeft(vars: Variables): Resource {
  const mark = markIn(dataFolder(vars, 'state-db'));
  return task('no mark of a recovery is left', {
    check: async (host) =>
      (await host.stat(mark)) ? drift(`${mark} is there`, [command`rm -f ${mark}`]) : ok,
  });
}
