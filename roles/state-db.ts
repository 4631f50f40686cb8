import { cpuShares } from '../lib/engine/resource/docker/cpu-shares.ts';
import { role } from '../lib/engine/resource/role.ts';
import { newServerMayBegin } from '../lib/node/backup/other-past.ts';
import { collationsAgree } from '../lib/node/databases/collation.ts';
import { directoryThatItsContainerOwns } from '../lib/node/databases/data-directory.ts';
import { acceptsConnections, databaseCpuShares, stateDatabase } from '../lib/node/databases/databases.ts';
import { acceptsLogins } from '../lib/node/databases/log-in.ts';
import { imageReadsData } from '../lib/node/databases/major-version.ts';
import { proverDatabaseIsThere } from '../lib/node/databases/prover-database.ts';
import { encryptionOf } from '../lib/node/encryption/server.ts';
import { networksAreApart } from '../lib/node/preflight/docker-networks.ts';
import { containersReach } from '../lib/node/preflight/from-containers.ts';
import { logIsReplayed } from '../lib/node/recovery/replayed.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { placeIsRemembered } from '../lib/node/server/data-disks.ts';
import { dataFolder } from '../lib/node/variables/data-folders.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** The database server of the chain state and of the prover's hash store. */
export default role<Variables>('state-db', async (context) => {
  const { vars, given } = context;
  const { image, service } = await component(context, 'state-db');
  const { services } = await renderHost(context);
  const encryption = encryptionOf(context);
  const isRecovery = given['to-time'] !== undefined;
  return [
    image,
    await containersReach(context),
    directoryThatItsContainerOwns(dataFolder(vars, 'state-db')),
    ...(isRecovery ? [] : newServerMayBegin(context, dataFolder(vars, 'state-db'))),
    ...placeIsRemembered(vars, 'state-db'),
    imageReadsData(vars, 'state-db'),
    ...encryption.before,
    service,
    // Compose has made the network by now.
    networksAreApart(context),
    cpuShares('state-db', databaseCpuShares),
    acceptsConnections('state-db'),
    ...encryption.after,
    // A recovered server accepts connections before it has replayed its log.
    ...(isRecovery ? [logIsReplayed(vars)] : []),
    collationsAgree(vars),
    proverDatabaseIsThere(stateDatabase(vars), vars.credentials.prover),
    acceptsLogins(context, ['state', 'prover'], services),
  ];
});
