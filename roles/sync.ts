import { role } from '../lib/engine/resource/role.ts';
import { layer1HasOurBlocks } from '../lib/node/chain/layer1-history.ts';
import { servesMetrics } from '../lib/node/chain/listeners.ts';
import { noForeignSynchronizer, noOtherSynchronizer } from '../lib/node/chain/single-sync.ts';
import { stateDatabase } from '../lib/node/databases/databases.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { poolDbHasItsLead, staysUp } from '../lib/node/server/startup.ts';
import { isOnTrustedChain } from '../lib/node/status/same-chain.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** Fills the state database from the trusted sequencer and layer 1. There is one of it: two would corrupt the database. */
export default role<Variables>('sync', async (context) => {
  const { vars } = context;
  const { image, service } = await component(context, 'sync');
  const { serves } = await renderHost(context);
  return [
    image,
    noForeignSynchronizer(context),
    layer1HasOurBlocks(vars),
    poolDbHasItsLead('sync'),
    { ...service, everyHost: noOtherSynchronizer(context) },
    staysUp('sync'),
    ...(serves.metrics ? [servesMetrics('sync', vars.ports.sync_metrics, vars.verify)] : []),
    isOnTrustedChain('sync', stateDatabase(vars), vars),
  ];
});
