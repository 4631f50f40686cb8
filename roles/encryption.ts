import { role } from '../lib/engine/resource/role.ts';
import { encryptionIsDemanded } from '../lib/node/encryption/demanded.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * Database servers refuse plain text from other hosts, after all clients can encrypt. Without
 * encryption nothing is asked.
 */
export default role<Variables>('encryption', (context) =>
  context.vars.tls ? [encryptionIsDemanded(context)] : [],
);
