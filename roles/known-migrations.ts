import { role } from '../lib/engine/resource/role.ts';
import { migrationsAreKnown } from '../lib/node/server/known-migrations.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** The databases of a host have no migration that the inventory's version of the node does not know. Nothing here changes a host. */
export default role<Variables>('known-migrations', (context) => migrationsAreKnown(context));
