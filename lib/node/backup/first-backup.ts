import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { bytesIn, job } from '../../engine/resource/job/job.ts';
import { drift, ok, type Resource, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { product } from '../server/product.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { postgresPrograms } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';
import { repositoryOf, resultsFolder } from './folders.ts';
import { newestBase } from './newest-base.ts';
import { baseBackup } from './programs.ts';
import { connectionToServer } from './settings.ts';

const script = readFileSync(new URL('../../../templates/host/first-backup.sh', import.meta.url), 'utf8');

/** The repository has a whole base backup, which is not known to be corrupt. */
export function baseBackupIsThere({ hosts, vars }: Context<Variables>): Resource {
  const folder = dataFolder(vars, 'backup');
  const settings = shellSettings({
    PROGRAMS: postgresPrograms,
    CONNECTION: connectionToServer({ hosts }),
    BASE_BACKUP: baseBackup,
    FOLDER: folder,
  });
  return job('a base backup is there', {
    unit: `${product}-first-backup`,
    script: settings + script,
    done: (host) => hasBackup(host, repositoryOf(vars)),
    progress: (host) => bytesIn(host, [`${folder}/state-db/base`], 'copying the database server'),
  });
}

async function hasBackup(host: Reader, repository: string): Promise<Verdict> {
  const [newest, corrupt] = await Promise.all([
    newestBase(host, repository),
    host.stat(`${resultsFolder}/verify-failed`),
  ]);
  if (corrupt) return drift('the newest base backup is corrupt');
  return newest === '' ? drift('there is no whole base backup') : ok;
}
