import { drift, expectation, ok } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const corrupts = 'two synchronizers on one database corrupt it';

/**
 * There is one synchronizer, and it runs on the Database+Sync server: known before anything is done on any host. A server that was
 * the Database+Sync server before is found by what still runs on it.
 */
export default role<Variables>('one-synchronizer', ({ host, hosts }) => {
  const databases = hosts.filter(({ groups }) => groups.includes('database')).map(({ name }) => name);
  const found =
    databases.length === 1 ? ok : drift(databases.length === 0 ? 'there is none' : `there are ${databases.join(', ')}`);
  const one = expectation('there is exactly one Database+Sync server', async () => found, {
    hint: `name one in group database: ${corrupts}`,
  });
  if (host.groups.includes('database')) return [one];
  const noSync = expectation(
    'no synchronizer runs on an RPC server',
    async (reader) => ((await reader.container('sync'))?.running ? drift('the container sync is running') : ok),
    { hint: `${corrupts}: docker rm -f sync` },
  );
  return [one, noSync];
});
