import { role } from '../lib/engine/resource/role.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { migrationsAreKnown } from '../lib/node/version/known-migrations.ts';

/**
 * The databases of a host have no migration that the inventory's version of the node does not
 * know. Nothing here changes a host.
 */
export default role<Variables>('known-migrations', (context) => migrationsAreKnown(context));
