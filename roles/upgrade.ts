import { role } from '../lib/engine/resource/role.ts';
import { upgradeChangesNoFile } from '../lib/node/release/upgrade.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * On the first run after an upgrade of this program: names the files that this version renders
 * differently from the one before.
 */
export default role<Variables>('upgrade', async (context) => [await upgradeChangesNoFile(context)]);
