import { directory, file, packages, service } from '../lib/engine/resource/kinds.ts';
import { role } from '../lib/engine/resource/role.ts';
import { backupsAreCopied } from '../lib/node/backup/copy.ts';
import { baseBackupIsThere } from '../lib/node/backup/first-backup.ts';
import { barmansHome } from '../lib/node/backup/folders.ts';
import { backupPrograms } from '../lib/node/backup/programs.ts';
import { noReceiverIsLeft } from '../lib/node/backup/receiver.ts';
import { backupSchedules } from '../lib/node/backup/schedules.ts';
import { barmanFile, passwordsOfBarman, recoverySettings } from '../lib/node/backup/settings.ts';
import { signedImage } from '../lib/node/images/image-signatures.ts';
import { dockerWaitsForData, placeIsRemembered } from '../lib/node/server/data-disks.ts';
import { dataFolder } from '../lib/node/variables/data-folders.ts';
import { postgresVersion } from '../lib/node/variables/generation.ts';
import { databaseHost } from '../lib/node/variables/hosts.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * Backups of both databases, from which they can be recovered as they were at any moment of the
 * last days: Barman with its repository, a first base backup, further ones by a timer, and a check
 * each minute.
 */
export default role<Variables>('backup', (context) => {
  const { host, vars } = context;
  if (!host.groups.includes('backup')) return [];
  const folder = dataFolder(vars, 'backup');
  return [
    // cron runs the package's own `barman cron` each minute, which keeps the receiver running.
    packages('barman', 'cron', 'zstd', `postgresql-client-${postgresVersion}`),
    service('cron'),
    ...dockerWaitsForData(context),
    directory(folder).mode(0o700).owner('barman').group('barman'),
    ...placeIsRemembered(vars, 'backup'),
    file(`${barmansHome}/.pgpass`).content(passwordsOfBarman(vars)).owner('barman').group('barman'),
    file('/etc/barman.d/state-db.conf').content(barmanFile(context)),
    noReceiverIsLeft(databaseHost(context.hosts).connection.address),
    ...backupPrograms(),
    recoverySettings(context),
    signedImage(vars, 'database'),
    baseBackupIsThere(context),
    ...backupSchedules(context),
    ...backupsAreCopied(context),
  ];
});
