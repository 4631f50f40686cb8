import { role } from '../lib/engine/resource/role.ts';
import { followsNobody, noneBeside } from '../lib/node/chain/one-synchronizer.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * No synchronizer runs beside the one of the Database+Sync server. Each host is checked before
 * anything is changed on any of them. A former Database+Sync server is found by the synchronizer
 * that still runs on it. Before a start of the synchronizer, role `sync` checks all hosts of the
 * inventory again, whatever the limit of the run.
 */
export default role<Variables>('one-synchronizer', ({ host: { groups }, hosts, vars }) => {
  const isDatabaseHost = groups.includes('database');
  const hasReplicas = hosts.some((host) => host.groups.includes('replica'));
  return [...(isDatabaseHost && hasReplicas ? [followsNobody(vars)] : []), noneBeside(isDatabaseHost)];
});
