import { cpuShares } from '../lib/engine/resource/docker/cpu-shares.ts';
import { role } from '../lib/engine/resource/role.ts';
import { collationsAgree } from '../lib/node/databases/collation.ts';
import { databaseCpuShares } from '../lib/node/databases/databases.ts';
import { imageReadsData } from '../lib/node/databases/major-version.ts';
import { encryptionOf } from '../lib/node/encryption/server.ts';
import { component } from '../lib/node/render/component.ts';
import { serverIsCopied } from '../lib/node/replica/copy.ts';
import { followsTheServer, hasCaughtUp, standbyAnswers } from '../lib/node/replica/follows.ts';
import { placeIsRemembered } from '../lib/node/server/data-disks.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** A copy of the whole state database server that follows it, and that RPC servers read. */
export default role<Variables>('replica', async (context) => {
  if (!context.host.groups.includes('replica')) return [];
  const { image, service } = await component(context, 'state-db');
  const encryption = encryptionOf(context);
  return [
    image,
    ...encryption.before,
    ...serverIsCopied(context),
    ...placeIsRemembered(context.vars, 'state-db'),
    imageReadsData(context.vars, 'state-db'),
    service,
    cpuShares('state-db', databaseCpuShares),
    standbyAnswers(context),
    ...encryption.after,
    collationsAgree(context.vars),
    followsTheServer(context),
    hasCaughtUp(context),
  ];
});
