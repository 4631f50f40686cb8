import { role } from '../lib/engine/resource/role.ts';
import { snapshotIsTaken } from '../lib/node/snapshot/take.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** A snapshot of the databases is in the folder that option --to names. */
export default role<Variables>('take-snapshot', ({ host, hosts, given }) => {
  const folder = given?.to?.replace(/^[^/]*:/, '');
  return folder === undefined ? [] : snapshotIsTaken(host, hosts, folder);
});
