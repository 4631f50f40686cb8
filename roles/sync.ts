import { component } from '../lib/node/component.ts';
import { stateDatabase } from '../lib/node/databases.ts';
import { noForeignSynchronizer } from '../lib/node/single-sync.ts';
import { poolDbHasItsLead, staysUp } from '../lib/node/startup.ts';
import type { Variables } from '../lib/node/variables.ts';
import { role } from '../lib/resource/role.ts';

/** Fills the state database from the trusted sequencer and layer 1. There is one of it: two would corrupt the database. */
export default role<Variables>('sync', async (context) => {
  const { image, service } = await component(context, 'sync');
  const addresses = context.hosts.map((host) => host.reach.address);
  return [
    image,
    noForeignSynchronizer(stateDatabase(context.vars), addresses),
    poolDbHasItsLead('sync'),
    service,
    staysUp('sync'),
  ];
});
