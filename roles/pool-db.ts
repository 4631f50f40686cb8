import { cpuShares } from '../lib/engine/resource/docker/cpu-shares.ts';
import { role } from '../lib/engine/resource/role.ts';
import { directoryThatItsContainerOwns } from '../lib/node/databases/data-directory.ts';
import { acceptsConnections, databaseCpuShares } from '../lib/node/databases/databases.ts';
import { acceptsLogins } from '../lib/node/databases/log-in.ts';
import { imageReadsData } from '../lib/node/databases/major-version.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { placeIsRemembered } from '../lib/node/server/data-disks.ts';
import { dataFolder } from '../lib/node/variables/data-folders.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** The transaction pool's database server, each host its own. */
export default role<Variables>('pool-db', async (context) => {
  const { image, service } = await component(context, 'pool-db');
  const { services } = await renderHost(context);
  return [
    image,
    directoryThatItsContainerOwns(dataFolder(context.vars, 'pool-db')),
    ...placeIsRemembered(context.vars, 'pool-db'),
    imageReadsData(context.vars, 'pool-db'),
    service,
    cpuShares('pool-db', databaseCpuShares),
    acceptsConnections('pool-db'),
    acceptsLogins(context, ['pool'], services),
  ];
});
