import { role } from '../lib/engine/resource/role.ts';
import { clientHasItsVersion, clientOfRepository, toolPackages } from '../lib/node/packages/client.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * Programs for the operator and the later roles on every server: PostgreSQL's client, curl and
 * tar.
 */
export default role<Variables>('client-tools', (context) => [
  ...(context.roles?.has('packages') ? [] : [toolPackages(context)]),
  ...clientOfRepository(context),
  clientHasItsVersion(),
]);
