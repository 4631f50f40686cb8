import { Problem } from '../lib/engine/problem/problem.ts';
import { role } from '../lib/engine/resource/role.ts';
import { drillPasses, recoveryIsReceived, recoveryIsStaged } from '../lib/node/backup/recover.ts';
import { backupHost } from '../lib/node/backup/source.ts';
import { databaseHost } from '../lib/node/variables/hosts.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** The databases as they were at a time: made on the backup host, and put in place on the Database+Sync server. Or a drill of it. */
export default role<Variables>('recovery', (context) => {
  const { host, hosts, vars, given = {} } = context;
  const time = given['to-time'];
  if (time === undefined) return [];
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
  if (host.groups.includes('backup')) {
    return given.drill === undefined ? recoveryIsStaged(context, time) : [drillPasses(vars, time)];
  }
  return given.drill === undefined ? recoveryIsReceived(context, time, given['set-aside'] !== undefined) : [];
});
