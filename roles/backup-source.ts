import { role } from '../lib/engine/resource/role.ts';
import { backupHost, serverLetsItselfBeCopied } from '../lib/node/backup/source.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** The backup host may copy the database server. Without one, nothing is asked or changed. */
export default role<Variables>('backup-source', (context) => {
  const backup = backupHost(context.hosts);
  return backup && context.host.groups.includes('database')
    ? [serverLetsItselfBeCopied(context, 'backup', [backup])]
    : [];
});
