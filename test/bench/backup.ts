import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { counted } from '../../lib/engine/text/counted.ts';
import { installMissing } from '../install-missing.ts';
import { type Repository, startRepository } from '../kinds/backup-repository.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import { backupPage, machine, putSection, spread } from './page.ts';
import { made, partsInMegabyte } from './state-tables.ts';

/** One way to back up a server and to recover it. */
interface Way {
  readonly name: string;
  backUp(): void;
  /** Bytes of the newest base backup. */
  size(): number;
  /** Makes the data directory of a new server, and starts it. */
  recover(): Promise<Postgres>;
}

interface Measured {
  readonly backUp: number[];
  readonly recover: number[];
  size: number;
}

export interface MeasuredBackups {
  readonly ways: ReadonlyMap<string, Measured>;
  readonly megabytes: number;
  readonly versions: string;
  readonly otherLoad: number;
}

const rowsOf =
  'select (select count(*) from state.l2block), (select count(*) from state.transaction), (select count(*) from state.log)';

function sizeOf(folder: string): number {
  return Number(execFileSync('du', ['-sxB1', folder], { encoding: 'utf8' }).split('\t')[0]);
}

function newestIn(folder: string): string {
  return join(folder, readdirSync(folder).sort().at(-1) ?? '');
}

function throughBarman(host: Repository): readonly Way[] {
  const size = () => sizeOf(newestIn(join(host.repository, 'base')));
  const need = ({ code, said }: { readonly code: number | null; readonly said: string }) => {
    if (code !== 0) throw new Error(said);
  };
  const before: Way = {
    name: 'Barman, files; staged and sent (the version before)',
    backUp: () => host.makeOldBackup(),
    size,
    recover: () => {
      host.receiveOldWay();
      return host.start();
    },
  };
  const now: Way = {
    name: 'Barman, compressed pieces; unpacked as they arrive (this version)',
    backUp: () => need(host.makeBackup()),
    size,
    recover: async () => {
      need(host.offerRecovery('latest'));
      need(await host.receive('latest'));
      return host.start();
    },
  };
  return [before, now];
}

/** Settings of pgBackRest on the server itself, which it needs. @returns how it is called there */
function preparePgBackRest(folder: string): { readonly words: readonly string[]; readonly command: string } {
  installMissing([['/usr/bin/pgbackrest', 'pgbackrest']]);
  const owner = Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }));
  mkdirSync(folder);
  chownSync(folder, owner, owner);
  const settings = join(folder, '..', 'pgbackrest.conf');
  const words = ['pgbackrest', `--config=${settings}`, '--stanza=main'];
  return { words, command: `${words.join(' ')} archive-push %p` };
}

const backupsOf = (folder: string) =>
  readdirSync(join(folder, 'backup/main'))
    .filter((name) => /F$/.test(name))
    .sort();

function throughPgBackRest(host: Repository, folder: string, words: readonly string[]): Way {
  const { source } = host;
  writeFileSync(
    join(folder, '..', 'pgbackrest.conf'),
    `[global]\nrepo1-path=${folder}\ncompress-type=zst\ncompress-level=3\nprocess-max=4\nstart-fast=y\nlog-level-console=error
log-level-file=off\nlock-path=${folder}/lock\nrepo1-retention-full=9\n[main]\npg1-path=${source.sql('postgres', 'show data_directory')}
pg1-socket-path=${source.socket}\npg1-port=${source.port}\npg1-user=${source.user}\npg1-database=state_db\n`,
  );
  const run = (...more: readonly string[]) =>
    execFileSync('setpriv', ['--reuid=postgres', '--regid=postgres', '--init-groups', ...words, ...more], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  run('stanza-create');
  return {
    name: 'pgBackRest 2.45, four processes, zstd',
    backUp: () => run('--type=full', 'backup'),
    size: () => sizeOf(join(folder, 'backup/main', backupsOf(folder).at(-1) ?? '')),
    recover: async () => {
      const server = await startPostgres(host.folder, { fsync: 'off' }, (data) =>
        run(`--pg1-path=${data}`, 'restore'),
      );
      while (server.sql('postgres', 'select pg_is_in_recovery()') !== 'f') await delay(100);
      return server;
    },
  };
}

/**
 * Backs a server up and recovers it, each way once in each round. Each recovery ends when the new
 * server answers and has all rows.
 *
 * @throws Error for a recovery without all rows, and when it was stopped
 */
export async function measureBackups(
  megabytes: number,
  rounds: number,
  { say, stopped }: { readonly say: (line: string) => void; readonly stopped: AbortSignal },
): Promise<MeasuredBackups> {
  const otherLoad = loadavg()[0] ?? 0;
  const folder = `/var/tmp/backup-bench-${process.pid}`;
  mkdirSync(folder, { mode: 0o755 });
  const { words, command } = preparePgBackRest(join(folder, 'pgbackrest'));
  const host = await startRepository({ archive_mode: 'on', archive_command: command });
  try {
    const { source } = host;
    say(`filling a database of about ${megabytes} MB`);
    source.sql('state_db', made(Math.ceil(megabytes * partsInMegabyte)));
    // Barman would compress the log of the filling in the first backup. No backup needs it.
    await host.untilReceived();
    execFileSync('find', [
      join(host.repository, 'streaming'),
      '-type',
      'f',
      '!',
      '-name',
      '*.partial',
      '-delete',
    ]);
    const ways = [...throughBarman(host), throughPgBackRest(host, join(folder, 'pgbackrest'), words)];
    const rows = source.sql('state_db', rowsOf);
    const measured = new Map<string, Measured>(
      ways.map(({ name }) => [name, { backUp: [], recover: [], size: 0 }]),
    );
    for (let round = 0; round < rounds; round += 1) {
      for (const way of [...ways.slice(round % ways.length), ...ways.slice(0, round % ways.length)]) {
        stopped.throwIfAborted();
        await measureOne(way, measured.get(way.name), rows, host);
        say(`round ${round + 1}: ${way.name}: ${measured.get(way.name)?.recover.at(-1)?.toFixed(1)} s`);
      }
    }
    return {
      ways: measured,
      megabytes: Math.round(
        Number(source.sql('state_db', 'select pg_database_size(current_database())')) / 1e6,
      ),
      versions: `PostgreSQL ${source.sql('postgres', 'show server_version')}, Barman ${host.barman('--version').split(/\s/)[0]}`,
      otherLoad,
    };
  } finally {
    await host.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureOne(way: Way, measured: Measured | undefined, rows: string, host: Repository) {
  const seconds = (since: number) => (performance.now() - since) / 1000;
  execFileSync('sync');
  let began = performance.now();
  way.backUp();
  measured?.backUp.push(seconds(began));
  if (measured) measured.size = way.size();
  await host.untilReceived();
  execFileSync('sync');
  began = performance.now();
  const server = await way.recover();
  execFileSync('sync');
  measured?.recover.push(seconds(began));
  try {
    if (server.sql('state_db', rowsOf) !== rows) throw new Error(`${way.name}: rows are missing`);
  } finally {
    await server.stop();
  }
}

/**
 * Writes the table into the page.
 *
 * @returns the table
 */
export function saveBackups({ ways, megabytes, versions, otherLoad }: MeasuredBackups): string {
  const [first] = ways.values();
  const rows = [...ways].map(([name, { backUp, recover, size }]) => {
    const ratios = recover.map((value, round) => value / (first?.recover[round] ?? Number.NaN));
    const part = first?.recover === recover ? '1' : spread(ratios, (value) => value.toFixed(2));
    const text = (value: number) => value.toFixed(1);
    return `| ${name} | ${spread(backUp, text)} | ${Math.round(size / 1e6)} | ${spread(recover, text)} | ${part} |`;
  });
  const table = `| Way | Back up, s | Base backup, MB | Recover, s | Of the version before |
|---|---|---|---|---|
${rows.join('\n')}

${new Date().toISOString().slice(0, 10)}, ${counted(first?.recover.length ?? 0, 'round')}, a database of ${megabytes} MB. ${machine}, all on one disk, with other work at the same
time (load ${otherLoad.toFixed(1)} as it began). ${versions}.
`;
  putSection('backups', `\n${table}`, backupPage);
  return table;
}
