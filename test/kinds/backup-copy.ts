import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readProgram } from '../../lib/engine/host/script.ts';
import { shellSettings } from '../../lib/engine/host/shell-settings.ts';
import { inBucket, type Storage, signing, webAddress } from '../../lib/node/variables/s3.ts';
import type { Repository, Said } from './backup-repository.ts';

// The copy of a repository of backups in a storage: the programs of the backup host, on this
// machine.

/** The usual folder in the storage. */
const usualTarget = 's3://snapshots/backups/mainnet';

const template = (name: string) => new URL(`../../templates/host/${name}.sh`, import.meta.url);

/** How a program runs. */
interface How {
  /** In place of the usual storage and its keys. */
  readonly storage?: Storage;
  /** Programs of a folder are before all others. */
  readonly programs?: string;
  /** Whether it is to be killed now; asked each 5 ms. */
  readonly killedWhen?: () => boolean;
  /** How long a new segment may take to reach the repository. Default: 3 s. */
  readonly switchSeconds?: number;
  /** Days, each moment of which can be recovered. Default: 7 */
  readonly keepDays?: number;
  /** A folder in the storage in place of the usual one, as `backup.copy_to` names it. */
  readonly target?: string;
  /** Words before the program, such as `faketime`. */
  readonly before?: readonly string[];
}

export interface Copy {
  /** Folder of its notes. */
  readonly notes: string;
  /** Where a copy is fetched to. */
  readonly fetched: string;
  /** Encrypts from now on for these recipients of age; for none nothing is encrypted. */
  encryptFor(...recipients: readonly string[]): void;
  send(how?: How): Promise<Said>;
  fetch(time: string, identity?: string, how?: How): Promise<Said>;
}

/** Puts the programs on the backup host. */
export function copyOf(host: Repository, usual: Storage): Copy {
  const [notes, fetched] = ['offsite', 'from-storage'].map((name) => join(host.repository, '..', name)) as [
    string,
    string,
  ];
  const conf = join(host.folder, 'backup-copy.conf');
  const recipients = join(host.folder, 'recipients');
  const programs = join(host.folder, 'bin');
  const program = (name: string, ...files: readonly string[]) =>
    writeFileSync(join(programs, name), readProgram(...files.map(template)), { mode: 0o755 });
  // Where nothing was written, Barman waits for a segment that does not come: not for so long here.
  writeFileSync(
    join(programs, 'barman'),
    `#!/bin/sh\ncase "$*" in *switch-wal*) set -- -q switch-wal --archive --archive-timeout \${SWITCH_SECONDS:-3} state-db ;; esac\nexec /usr/bin/barman -c ${host.folder}/barman.conf "$@"\n`,
    { mode: 0o755 },
  );
  program('send-backup', 'fetch', 'send', 'storage-folder', 'base-backups', 'send-backup');
  program('fetch-backup', 'fetch', 'storage-folder', 'timeline', 'fetch-backup');

  let isEncrypted = false;

  function configure(storage: Storage, { target = usualTarget, keepDays = 7 }: How): void {
    const { bucket, prefix } = inBucket(target, storage);
    const settings = shellSettings({
      REPOSITORY: host.repository,
      NOTES: notes,
      BUCKET: bucket,
      PREFIX: prefix,
      URL: `${webAddress(target, storage)}/`,
      SHOWN: `${target}/`,
      KEEP_DAYS: keepDays,
      RECIPIENTS: isEncrypted ? recipients : '',
    });
    writeFileSync(conf, settings);
  }

  async function run(words: readonly string[], input: string, how: How): Promise<Said> {
    const path = `${how.programs === undefined ? '' : `${how.programs}:`}${programs}:${process.env.PATH}`;
    const seconds = String(how.switchSeconds ?? 3);
    const env = { ...process.env, PATH: path, COPY_CONF: conf, SWITCH_SECONDS: seconds };
    const all = ['-u', 'barman', '--', ...(how.before ?? []), ...words];
    const child = spawn('runuser', all, { env, detached: true });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        said += text;
      });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    const timer = setInterval(() => {
      if (how.killedWhen?.() === true && child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
    }, 5);
    const [code] = (await once(child, 'close')) as [number | null];
    clearInterval(timer);
    return { code, said };
  }

  return {
    notes,
    fetched,
    encryptFor(...keys) {
      isEncrypted = keys.length > 0;
      writeFileSync(recipients, `${keys.join('\n')}\n`);
    },
    send(how = {}) {
      const storage = how.storage ?? usual;
      configure(storage, how);
      return run([join(programs, 'send-backup')], signing(storage).reveal(), how);
    },
    fetch(time, identity = '', how = {}) {
      const storage = how.storage ?? usual;
      configure(storage, how);
      const words = [join(programs, 'fetch-backup'), fetched, time];
      return run(words, `${signing(storage).reveal()}${identity}\n`, how);
    },
  };
}

/** Makes a key of age: the identity, and its recipient. */
export function ageKey(): { readonly identity: string; readonly recipient: string } {
  const made = execFileSync('age-keygen', { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return {
    identity: /^AGE-SECRET-KEY-\S+$/m.exec(made)?.[0] ?? '',
    recipient: /age1\S+/.exec(made)?.[0] ?? '',
  };
}

/** The times and reasons in the notes of a copy. */
export function noted(copy: Copy, name: 'log-at' | 'base-at' | 'failed'): string {
  try {
    return readFileSync(join(copy.notes, name), 'utf8').trim();
  } catch {
    return '';
  }
}
