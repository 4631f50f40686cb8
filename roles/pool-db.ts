import { component } from '../lib/node/component.ts';
import { directoryThatItsContainerOwns } from '../lib/node/data-directory.ts';
import { acceptsConnections, databaseCpuShares } from '../lib/node/databases.ts';
import type { Variables } from '../lib/node/variables.ts';
import { cpuShares } from '../lib/resource/cpu-shares.ts';
import { role } from '../lib/resource/role.ts';

/** The transaction pool's database server, each host its own. */
export default role<Variables>('pool-db', async (context) => {
  const { image, service } = await component(context, 'pool-db');
  return [
    image,
    directoryThatItsContainerOwns(`${context.vars.paths.data}/pool-db`),
    service,
    cpuShares('pool-db', databaseCpuShares),
    acceptsConnections('pool-db'),
  ];
});
