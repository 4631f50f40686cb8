import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { directory } from '../lib/engine/resource/file/directory.ts';
import { file } from '../lib/engine/resource/file/file.ts';
import { role } from '../lib/engine/resource/role.ts';
import { schedule } from '../lib/engine/resource/system/schedule.ts';
import { diskAlertSettings, diskAlertState, diskAlertUnit } from '../lib/node/server/disk-alert.ts';
import { dockerDisk } from '../lib/node/server/largest-disk.ts';
import { product } from '../lib/node/server/product.ts';
import { watchedFolders } from '../lib/node/variables/data-folders.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const script = readFileSync(new URL('../templates/host/disk-alert.sh', import.meta.url));
const program = `/usr/local/lib/${product}/disk-alert`;
const settings = `/etc/${product}/disk-alert.conf`;

/**
 * A message when a disk with data fills up, and one when it has room again (spec part 1, operating
 * rules).
 */
export default role<Variables>('disk-alert', ({ host, vars, facts }) => {
  const { root } = dockerDisk(facts, vars.docker_root, vars.paths.data);
  return [
    directory(dirname(program)),
    directory(dirname(settings)),
    directory(diskAlertState),
    file(program).content(script).mode(0o755),
    file(settings).content(diskAlertSettings([...watchedFolders(host.groups, vars), root], vars.disk_alert)),
    schedule(diskAlertUnit, {
      every: vars.disk_alert.every_seconds,
      command: `${program} ${settings}`,
      description: 'Alerts when a disk of the RPC node fills up',
      writes: [diskAlertState],
      // Its webhook.
      needs: ['network'],
    }),
  ];
});
