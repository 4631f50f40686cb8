import { role } from '../lib/engine/resource/role.ts';
import { releaseIsKept } from '../lib/node/release/release.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** The last five releases of a host, for `playbooks/rollback.mjs`. It follows all checks: a release is something that works. */
export default role<Variables>('release', releaseIsKept);
