import { containerListens } from '../lib/engine/resource/network/listening.ts';
import { role } from '../lib/engine/resource/role.ts';
import { noForeignSynchronizer, noOtherSynchronizer } from '../lib/node/chain/single-sync.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { poolDbHasItsLead, staysUp } from '../lib/node/server/startup.ts';
import { both, noOtherVersionServes } from '../lib/node/server/version-change.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** A migration may write an index on a table of hundreds of GB. Seconds. */
const migrationLimit = 6 * 3600;

/** Fills the state database from the trusted sequencer and layer 1. There is one of it: two would corrupt the database. */
export default role<Variables>('sync', async (context) => {
  const { image, service } = await component(context, 'sync');
  const { listens } = await renderHost(context);
  return [
    image,
    noForeignSynchronizer(context),
    poolDbHasItsLead('sync'),
    { ...service, everyHost: both(noOtherSynchronizer(context), noOtherVersionServes(context)) },
    staysUp('sync'),
    // It listens when it has migrated the database, which json-rpc needs migrated.
    ...(listens.sync.length > 0 ? [containerListens('sync', listens.sync, migrationLimit)] : []),
  ];
});
