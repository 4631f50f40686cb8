import { role } from '../lib/engine/resource/role.ts';
import { databasesAcceptLogins } from '../lib/node/databases/log-in.ts';
import { clientsLearnNewAuthority } from '../lib/node/encryption/new-authority.ts';
import { addressesAnswer } from '../lib/node/preflight/addresses.ts';
import { imagesArePinned, serverIsInRegion } from '../lib/node/preflight/advice.ts';
import { openFilesSuffice, portsAreFree } from '../lib/node/preflight/containers.ts';
import { networksAreApart } from '../lib/node/preflight/docker-networks.ts';
import { containersReach } from '../lib/node/preflight/from-containers.ts';
import { databasesFit, databasesLast, hardwareSuffices } from '../lib/node/preflight/hardware.ts';
import { beforehand } from '../lib/node/preflight/known.ts';
import { restoreToolCanBeBuilt } from '../lib/node/preflight/restore.ts';
import { softwareFits } from '../lib/node/preflight/software.ts';
import { systemIsSupported } from '../lib/node/preflight/system.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { dataIsInItsPlace, mountsOutlastReboot } from '../lib/node/server/data-disks.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * Requirements that only the operator can meet, checked before anything changes. Nothing here
 * changes a host.
 */
export default role<Variables>('preflight', async (context) => [
  dataIsInItsPlace(context),
  mountsOutlastReboot(context),
  ...systemIsSupported(context),
  ...hardwareSuffices(context),
  ...softwareFits(context),
  databasesLast(context),
  ...databasesFit(context),
  ...(await portsAreFree(context)),
  ...(await openFilesSuffice(context)),
  ...serverIsInRegion(context),
  ...addressesAnswer(context),
  ...restoreToolCanBeBuilt(context),
  ...imagesArePinned(context),
  ...(context.host.groups.some((group) => group === 'database' || group === 'replica')
    ? clientsLearnNewAuthority(context, 'clients will know the authority of state-db')
    : []),
  // A replica has the logins of the server that it follows.
  ...(context.host.groups.includes('replica')
    ? []
    : [
        databasesAcceptLogins(context, (await renderHost(context)).services),
        beforehand('containers will reach what they need', await containersReach(context)),
      ]),
  beforehand('networks of Docker are apart from the deployment', networksAreApart(context)),
]);
