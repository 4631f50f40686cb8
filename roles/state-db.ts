import { component } from '../lib/node/component.ts';
import { directoryThatItsContainerOwns } from '../lib/node/data-directory.ts';
import { acceptsConnections, databaseCpuShares, stateDatabase } from '../lib/node/databases.ts';
import { proverDatabaseIsThere } from '../lib/node/prover-database.ts';
import type { Variables } from '../lib/node/variables.ts';
import { cpuShares } from '../lib/resource/cpu-shares.ts';
import { role } from '../lib/resource/role.ts';

/** The chain state's database server, which keeps the prover's hash store as well. */
export default role<Variables>('state-db', async (context) => {
  const { vars } = context;
  const { image, service } = await component(context, 'state-db');
  return [
    image,
    directoryThatItsContainerOwns(`${vars.paths.data}/state-db`),
    service,
    cpuShares('state-db', databaseCpuShares),
    acceptsConnections('state-db'),
    proverDatabaseIsThere(stateDatabase(vars), vars.credentials.prover),
  ];
});
