import { role } from '../lib/engine/resource/role.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { formerVersionIsStopped } from '../lib/node/version/version-change.ts';

/**
 * json-rpc and sync of another version of the node are stopped on all hosts, before the state
 * database migrates.
 */
export default role<Variables>('former-version', (context) => formerVersionIsStopped(context));
