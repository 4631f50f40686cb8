import type { Reader } from '../../engine/host/host.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import { bytesIn, job, jobDirectory } from '../../engine/resource/job/job.ts';
import { drift, ok, type Resource, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { copyPrograms, fetchProgram, storageAnswers } from '../backup/copy.ts';
import { product } from '../server/product.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { postgresVersion } from '../variables/generation.ts';
import { signing } from '../variables/s3.ts';
import type { Variables } from '../variables/variables.ts';
import { identitiesOfCopy } from './asked.ts';
import { fetchedFolder } from './paths.ts';

/** Keys of the storage, and private keys of age: in memory, and only until the fetch has begun. */
const keyFile = `${jobDirectory}/recovery-copy-keys`;

/**
 * The backup host, which may be a new one, has the newest base backup before a time and its log
 * from the copy in the storage, decrypted and verified.
 *
 * @param time as `AskedRecovery` has it
 * @throws Problem for a private key that cannot be used
 */
export async function copyIsFetched(context: Context<Variables>, time: string): Promise<Resource[]> {
  const { vars } = context;
  const { copy } = vars.backup;
  if (!copy) return [];
  const folder = fetchedFolder(vars);
  const identities = (await identitiesOfCopy(context))?.reveal() ?? '';
  const keys = `${signing(copy.storage).reveal()}${identities}\n`;
  const fetched = job(`the copy of the backups in ${copy.target} is fetched`, {
    unit: `${product}-recovery-fetch`,
    // The keys are in no file while they are used.
    script: `exec 3<${keyFile} && rm -f ${keyFile} && exec runuser -u barman -- ${fetchProgram} ${folder} ${time} <&3\n`,
    done: (host) => isFetched(host, folder, time),
    progress: (host) => bytesIn(host, [folder], 'fetching the copy of the backups'),
  });
  return [
    packages('barman', 'zstd', 'age', 'rsync', `postgresql-client-${postgresVersion}`),
    directory(dataFolder(vars, 'backup')).mode(0o700).owner('barman').group('barman'),
    ...copyPrograms(vars, copy),
    skipWhen(fetched, storageAnswers(copy)),
    directory(jobDirectory).mode(0o700),
    skipWhen(fetched, file(keyFile).content(secretContent(keys, /./)).mode(0o600)),
    fetched,
  ];
}

async function isFetched(host: Reader, folder: string, time: string): Promise<Verdict> {
  const mark = (await host.read(`${folder}/fetched`))?.toString().trim();
  return mark === time ? ok : drift('it is not here');
}
