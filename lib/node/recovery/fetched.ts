import type { Reader } from '../../engine/host/host.ts';
import { readScript } from '../../engine/host/script.ts';
import { command } from '../../engine/host/step.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import { bytesIn, job, jobDirectory } from '../../engine/resource/job/job.ts';
import { drift, ok, type Resource, type Verdict, type Work } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { copyPrograms, copySettings, fetchProgram, storageAnswers } from '../backup/copy.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { postgresVersion } from '../variables/generation.ts';
import { signing } from '../variables/s3.ts';
import type { BackupCopy, Variables } from '../variables/variables.ts';
import { identitiesOfCopy } from './asked.ts';
import { copyKeyFile, fetchedFolder, fetchUnit, markOfFetch } from './paths.ts';

const template = (name: string) => new URL(`../../../templates/host/${name}.sh`, import.meta.url);
const newerScript = readScript(template('fetch'), template('storage-folder'), template('newer-copy'));

/** For a list of all that the storage has. Seconds. */
const listLimit = 300;

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
  const identities = (await identitiesOfCopy(context))?.reveal() ?? '';
  const keys = `${signing(copy.storage).reveal()}${identities}\n`;
  const fetched = fetchOf(copy, fetchedFolder(vars), time);
  return [
    packages('barman', 'zstd', 'age', 'rsync', `postgresql-client-${postgresVersion}`),
    directory(dataFolder(vars, 'backup')).mode(0o700).owner('barman').group('barman'),
    ...copyPrograms(vars, copy),
    skipWhen(fetched, storageAnswers(copy)),
    directory(jobDirectory).mode(0o700),
    skipWhen(keysAreOfNoUse(fetched), file(copyKeyFile).content(secretContent(keys, /./)).mode(0o600)),
    fetched,
  ];
}

/**
 * @param folder where it is fetched to
 * @param time as `AskedRecovery` has it
 */
function fetchOf(copy: BackupCopy, folder: string, time: string): Work {
  const fetched = job(`the copy of the backups in ${copy.target} is fetched`, {
    unit: fetchUnit,
    // The keys are in no file while they are used.
    script: `exec 3<${copyKeyFile} && rm -f ${copyKeyFile} && exec runuser -u barman -- ${fetchProgram} ${folder} ${time} <&3\n`,
    done: (host) => isFetched(host, folder, time),
    progress: (host) => bytesIn(host, [folder], 'fetching the copy of the backups'),
  });
  if (time !== 'latest') return fetched;
  return {
    ...fetched,
    async check(host) {
      const verdict = await fetched.check(host);
      if (verdict.is !== 'ok') return verdict;
      const why = await newerIn(host, copy, folder);
      // The job takes the mark for its end.
      return why === undefined ? ok : drift(why, [command`rm -f ${markOfFetch(folder)}`]);
    },
  };
}

/**
 * A fetch that runs has read the keys, and nothing would remove those that are written now.
 */
function keysAreOfNoUse(fetched: Pick<Resource, 'check'>): Pick<Resource, 'check'> {
  return {
    check: async (host) => {
      const [unit, verdict] = await Promise.all([host.unit(`${fetchUnit}.service`), fetched.check(host)]);
      return ['inactive', 'failed'].includes(unit.active) ? verdict : ok;
    },
  };
}

async function isFetched(host: Reader, folder: string, time: string): Promise<Verdict> {
  const mark = (await host.read(markOfFetch(folder)))?.toString().trim();
  return mark === time ? ok : drift('it is not here');
}

/**
 * Whether the storage has got log since the fetch, as a site that still runs sends it.
 *
 * @returns why all of it is not here; undefined if it is
 */
async function newerIn(host: Reader, copy: BackupCopy, folder: string): Promise<string | undefined> {
  const listed = await host.$({ stdin: signing(copy.storage), timeoutSeconds: listLimit })`
    sh -c ${newerScript} newer-copy ${folder} ${copySettings}`;
  if (listed.ok) return listed.text() === '' ? undefined : 'the storage has newer log';
  return `whether it is the newest is not known: ${listed.stderr.trim().split('\n').at(-1)}`;
}
