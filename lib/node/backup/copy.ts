import { shellSettings } from '../../engine/host/shell-settings.ts';
import { command } from '../../engine/host/step.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { file } from '../../engine/resource/file/file.ts';
import { listStorage } from '../../engine/resource/network/storage.ts';
import { drift, expectation, ok, type Resource, task, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { schedule } from '../../engine/resource/system/schedule.ts';
import { stoppedService } from '../../engine/resource/system/stopped-service.ts';
import { product } from '../server/product.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { inBucket, signing, webAddress } from '../variables/s3.ts';
import type { BackupCopy, Variables } from '../variables/variables.ts';
import { barmansHome, foldersOfBarman, repositoryOf } from './folders.ts';
import { library, program, template } from './programs.ts';

/** Seconds between two runs: what a site loses at most, beside what a run takes. */
const copyEvery = 300;

/** Of one request. Seconds. */
const limit = 30;

const unit = `${product}-backup-copy`;
/** What the programs know of the storage: no secret. */
export const copySettings = `/etc/${product}/backup-copy.conf`;
const keyFile = `/etc/${product}/backup-copy-keys`;
const recipientsFile = `/etc/${product}/backup-copy-recipients`;

/** Fetches a copy from the storage, on a backup host. */
export const fetchProgram = `${library}/fetch-backup`;

/** The notes of what was copied. The check of the repository reads them. */
export function copyNotes(vars: Variables): string {
  return `${dataFolder(vars, 'backup')}/offsite`;
}

/**
 * What the repository has is copied to a storage, each five minutes: where the inventory names
 * one. Where it names none any more nothing is sent, and no keys are on the host.
 */
export function backupsAreCopied({ vars }: Context<Variables>): Resource[] {
  const { copy } = vars.backup;
  // A run that the timer has started holds the keys in memory, and may take hours.
  if (!copy) return [stoppedService(`${unit}.timer`), stoppedService(unit), noKeysAreLeft()];
  return [
    storageAnswers(copy),
    file(keyFile)
      .content(secretContent(signing(copy.storage).reveal(), /^(user|header) =/))
      .mode(0o600),
    ...copyPrograms(vars, copy),
    schedule(unit, {
      every: copyEvery,
      command: `setpriv --reuid=barman --regid=barman --init-groups -- env HOME=${barmansHome} ${library}/send-backup <${keyFile}`,
      description: 'Copy of the backups to a storage',
      writes: foldersOfBarman(vars),
      needs: ['network', 'users'],
    }),
  ];
}

/** The programs that send and fetch a copy are on the host, with their settings. */
export function copyPrograms(vars: Variables, copy: BackupCopy): Resource[] {
  const { target, storage, recipients } = copy;
  const { bucket, prefix } = inBucket(target, storage);
  const settings = shellSettings({
    REPOSITORY: repositoryOf(vars),
    NOTES: copyNotes(vars),
    BUCKET: bucket,
    PREFIX: prefix,
    URL: `${webAddress(target, storage)}/`,
    SHOWN: `${target}/`,
    KEEP_DAYS: vars.backup.keep_days,
    RECIPIENTS: recipients.length > 0 ? recipientsFile : '',
  });
  return [
    packages('curl', ...(recipients.length > 0 ? ['age'] : [])),
    ...(recipients.length > 0 ? [file(recipientsFile).content(`${recipients.join('\n')}\n`)] : []),
    file(copySettings).content(settings),
    program('send-backup', template('fetch', 'send', 'storage-folder', 'base-backups', 'send-backup')),
    program('fetch-backup', template('fetch', 'storage-folder', 'timeline', 'fetch-backup')),
  ];
}

/** The storage lets the host list the folder. Whether it takes files is in status. */
export function storageAnswers({ target, storage }: BackupCopy): Resource {
  const { bucket, prefix } = inBucket(target, storage);
  return expectation(`${target} can be listed`, {
    check: async (host) => {
      const folder = { url: bucket, shown: target, signing: signing(storage) };
      const names = await listStorage(host, folder, prefix, limit, 'backup.s3');
      if (names === 'curl is not installed') return unknownUntil('curl is installed');
      return typeof names === 'string' ? drift(`${target}: ${names}`) : ok;
    },
    hint: 'correct backup.copy_to or backup.s3: nothing in the storage is changed',
  });
}

function noKeysAreLeft(): Resource {
  return task('no keys of a storage for backups are left', {
    check: async (host) =>
      (await host.stat(keyFile)) ? drift(`${keyFile} is there`, [command`rm -f ${keyFile}`]) : ok,
  });
}
