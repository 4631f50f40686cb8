import { drift, expectation, ok, type Resource } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { noSynchronizerOn } from '../lib/node/chain/synchronizers.ts';
import { stateDatabase } from '../lib/node/databases/databases.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * No synchronizer runs beside the one of the Database+Sync server. Each host is checked before anything is changed on any of them. A
 * former Database+Sync server is found by the synchronizer that still runs on it. Before a start of the synchronizer, role `sync`
 * checks all hosts of the inventory again, whatever the limit of the run.
 */
export default role<Variables>('one-synchronizer', ({ host: { groups }, hosts, vars }) => {
  const isDatabaseHost = groups.includes('database');
  const hasReplicas = hosts.some((host) => host.groups.includes('replica'));
  return [
    ...(isDatabaseHost && hasReplicas ? [followsNobody(vars)] : []),
    expectation(
      isDatabaseHost
        ? 'no other synchronizer runs on the Database+Sync server'
        : 'no synchronizer runs on an RPC server',
      {
        check: async (host) => {
          const seen = await noSynchronizerOn(host, isDatabaseHost);
          // An engine that does not run yet is started by a later role.
          return seen.is === 'unknown' ? ok : seen;
        },
        hint: 'two synchronizers on one database corrupt it: stop it for good, for example with docker rm -f sync',
      },
    ),
  ];
});

/** Refuses a deploy where the inventory names a replica as the Database+Sync server before a switch. */
function followsNobody(vars: Variables): Resource {
  return expectation('state-db is no replica', {
    check: async (host) => {
      const answer = await host.sql(
        stateDatabase(vars),
        "select pg_is_in_recovery(), current_setting('primary_conninfo')",
      );
      const [follows, source] = answer.ok ? (answer.rows[0] ?? []) : [];
      // One that does not run yet, or replays its own log, follows nobody.
      return follows === 't' && source !== '' ? drift('it follows another server') : ok;
    },
    hint: 'switch.mjs makes it the Database+Sync server',
  });
}
