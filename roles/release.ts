import { readFileSync } from 'node:fs';
import { file } from '../lib/engine/resource/file/file.ts';
import { role } from '../lib/engine/resource/role.ts';
import { releaseIsKept, releaseProgram } from '../lib/node/release/kept.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const script = readFileSync(new URL('../templates/host/release.sh', import.meta.url));

/**
 * The last five releases of a host, for `playbooks/rollback.mjs`. It follows all checks: a release
 * is something that works.
 */
export default role<Variables>('release', async (context) => [
  file(releaseProgram).content(script).mode(0o755),
  await releaseIsKept(context),
]);
