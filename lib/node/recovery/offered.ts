import type { Reader } from '../../engine/host/host.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { job, jobDirectory } from '../../engine/resource/job/job.ts';
import { drift, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { repositoryOf } from '../backup/folders.ts';
import { backupPrograms, recoveryProgram } from '../backup/programs.ts';
import { recoverySettings } from '../backup/settings.ts';
import { product } from '../server/product.ts';
import type { Variables } from '../variables/variables.ts';
import type { AskedRecovery } from './asked.ts';
import { fetchedFolder, markIn, markOfFetch, offeredFolder } from './paths.ts';
import { isRecovered } from './recovered.ts';
import { offerCanBeFetched } from './serving.ts';

/**
 * The backup host offers what the Database+Sync server needs to be as it was at a time: the files
 * of its repository, or of the copy from the storage, verified, and none of them copied.
 */
export function recoveryIsOffered(context: Context<Variables>, asked: AskedRecovery): Resource[] {
  const { vars } = context;
  return [
    packages('zstd'),
    // Of this version, also where the host was deployed by another.
    ...backupPrograms(),
    recoverySettings(context),
    directory(jobDirectory).mode(0o700),
    recoveryIsVerified(vars, asked),
    ...offerCanBeFetched(context),
  ];
}

function recoveryIsVerified(vars: Variables, { time, fromStorage }: AskedRecovery): Resource {
  const folder = offeredFolder(vars);
  const from = fromStorage ? fetchedFolder(vars) : repositoryOf(vars);
  return job(`a recovery to ${time} is verified`, {
    unit: `${product}-recovery`,
    script: `exec ${recoveryProgram} offer ${folder} ${time}${fromStorage ? ` ${from}` : ''}\n`,
    done: async (host) => {
      const [isMarked, mark, source, fetched] = await Promise.all([
        isRecovered(host, folder, time),
        host.stat(markIn(folder)),
        host.read(`${folder}/lists/source`),
        fromStorage ? host.stat(markOfFetch(from)) : undefined,
      ]);
      // The versions before made offers without it, and whole data directories, with the same mark.
      if (!isMarked || !source) return drift('it is not verified yet');
      if (source.toString().trim() !== from)
        return drift(`what is verified is not of ${fromStorage ? 'the storage' : 'the repository'}`);
      // An earlier fetch to the same time had less.
      if (fetched && mark && mark.modified < fetched.modified)
        return drift('it is not of the copy that was fetched');
      return time !== 'latest' || (await isNewest(host, from, folder))
        ? ok
        : drift('newer changes have reached the backup host');
    },
  });
}

/**
 * What is offered is all that reached the backup host, also what the databases have written until
 * they were stopped for the recovery. Log of a later timeline is of the recovered server.
 */
export function recoveryIsNewest(vars: Variables): Resource {
  const folder = offeredFolder(vars);
  return job('what arrived until the databases were stopped is offered, too', {
    unit: `${product}-recovery-renew`,
    script: `exec ${recoveryProgram} renew ${folder} latest\n`,
    done: async (host) => {
      if (!(await isRecovered(host, folder, 'latest')))
        return unknownUntil('a recovery to latest is verified');
      const newer = await host.$`
        # The version before marked an offer after its verification, and not when it listed the log.
        [ -e ${folder}/lists/backup ] || echo older
        timeline=$(sed -n "s/^recovery_target_timeline = '\\(.*\\)'$/\\1/p" ${folder}/lists/settings)
        find ${repositoryOf(vars)}/wals ${repositoryOf(vars)}/streaming -type f -name "$(printf %08X "$timeline")*" -newer ${markIn(folder)} -print -quit`;
      return newer.text() === '' ? ok : drift('newer changes have reached the backup host');
    },
  });
}

/**
 * Whether what is offered is nearly all that reached the backup host. A server that stopped for its
 * recovery sends nothing, so log that came more than an hour later is of one that went on. What came
 * within the hour follows when the databases are stopped. The hour begins when the verification has
 * ended, which may itself take hours.
 *
 * @param from the folder with the log
 * @param offered the folder of the offer
 */
async function isNewest(host: Reader, from: string, offered: string): Promise<boolean> {
  const newer = await host.$`
    find ${from}/wals ${from}/streaming -type f -newermt "$(date -d "$(stat -c %y ${offered}/lists/source) 1 hour")" -print -quit`;
  return newer.text() === '';
}
