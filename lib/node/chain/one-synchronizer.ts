import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import { stateDatabase } from '../databases/databases.ts';
import type { Variables } from '../variables/variables.ts';
import { noSynchronizerOn } from './synchronizers.ts';

/** No synchronizer runs on a host beside the one of the Database+Sync server. */
export function noneBeside(isDatabaseHost: boolean): Resource {
  return expectation(
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
  );
}

/**
 * Refuses a deploy where the inventory names a replica as the Database+Sync server before a
 * switch.
 */
export function followsNobody(vars: Variables): Resource {
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
