import { containerListens } from '../lib/engine/resource/network/listening.ts';
import { role } from '../lib/engine/resource/role.ts';
import { layer1HasOurBlocks } from '../lib/node/chain/layer1-history.ts';
import { servesMetrics } from '../lib/node/chain/listeners.ts';
import { noForeignSynchronizer, noOtherSynchronizer } from '../lib/node/chain/single-sync.ts';
import { stateDatabase } from '../lib/node/databases/databases.ts';
import { noChoiceIsLeft } from '../lib/node/layer1/balancer.ts';
import { noMarkIsLeft } from '../lib/node/recovery/cleaned-up.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { poolDbHasItsLead, staysUp } from '../lib/node/server/startup.ts';
import { isOnTrustedChain } from '../lib/node/status/same-chain.ts';
import { choosesLayer1 } from '../lib/node/variables/layer1.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { poolIsCarriedOver, stateMigrationsAreKnown } from '../lib/node/version/known-migrations.ts';
import {
  both,
  formerVersionIsStoppedHere,
  noOtherVersionServes,
} from '../lib/node/version/version-change.ts';

/** A migration may write an index on a table of hundreds of GB. Seconds. */
const migrationLimit = 6 * 3600;

/**
 * Fills the state database from the trusted sequencer and layer 1. There is one of it: two would
 * corrupt the database.
 */
export default role<Variables>('sync', async (context) => {
  const { vars } = context;
  const { image, service } = await component(context, 'sync');
  const { listens, serves } = await renderHost(context);
  return [
    image,
    noForeignSynchronizer(context),
    layer1HasOurBlocks(vars),
    ...formerVersionIsStoppedHere(context),
    poolDbHasItsLead('sync'),
    stateMigrationsAreKnown(context),
    poolIsCarriedOver(context),
    noMarkIsLeft(vars),
    { ...service, everyHost: both(noOtherSynchronizer(context), noOtherVersionServes(context)) },
    staysUp('sync'),
    // It listens when it has migrated the database, which json-rpc needs migrated.
    ...(listens.sync.length > 0 ? [containerListens('sync', listens.sync, migrationLimit)] : []),
    ...(serves.metrics ? [servesMetrics('sync', vars.ports.sync_metrics, vars.verify)] : []),
    isOnTrustedChain('sync', stateDatabase(vars), vars),
    ...(choosesLayer1(vars) ? [] : [noChoiceIsLeft()]),
  ];
});
