import { role } from '../lib/engine/resource/role.ts';
import { backupRepository } from '../lib/node/backup/repository.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** Backups of both databases, from which they can be recovered as they were at any moment of the last days. */
export default role<Variables>('backup', (context) =>
  context.host.groups.includes('backup') ? backupRepository(context) : [],
);
