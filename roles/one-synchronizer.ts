import { expectation, ok } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { noSynchronizerOn } from '../lib/node/chain/synchronizers.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * No synchronizer runs beside the one of the Database+Sync server: seen on each host before anything is done on any. A server that
 * was the Database+Sync server before is found by what still runs on it. Before a synchronizer is started, role `sync` has all hosts
 * looked at again, whatever a run is limited to.
 */
export default role<Variables>('one-synchronizer', ({ host: { groups } }) => {
  const isDatabaseHost = groups.includes('database');
  return [
    expectation(
      isDatabaseHost
        ? 'no other synchronizer runs on the Database+Sync server'
        : 'no synchronizer runs on an RPC server',
      async (host) => {
        const seen = await noSynchronizerOn(host, isDatabaseHost);
        // An engine that does not run yet is started by a later role.
        return seen.is === 'unknown' ? ok : seen;
      },
      { hint: 'two synchronizers on one database corrupt it: stop it for good, for example with docker rm -f sync' },
    ),
  ];
});
