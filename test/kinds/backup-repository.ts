import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { shellSettings } from '../../lib/engine/host/shell-settings.ts';
import { installMissing } from '../install-missing.ts';
import { type Postgres, startPostgres } from '../postgres.ts';

// A database server, its backup host and a new server on this machine: the real PostgreSQL, Barman
// and rsync. In place of docker there is a program that knows no container.

const template = (name: string) =>
  readFileSync(new URL(`../../templates/host/${name}`, import.meta.url), 'utf8');
const receiveScript = ['data-place', 'unpack-recovery', 'receive-recovery']
  .map((name) => template(`${name}.sh`))
  .join('\n');
const settingsOfBarman = readFileSync(new URL('../../templates/backup/barman.conf', import.meta.url), 'utf8');

/** What a program said, and its exit code. */
export interface Said {
  readonly code: number | null;
  readonly said: string;
}

export interface Repository {
  readonly folder: string;
  readonly source: Postgres;
  /** Barman's folder of the server. */
  readonly repository: string;
  /** What the backup host offers for a recovery. */
  readonly offer: string;
  /** The data directory of the new server. */
  readonly data: string;
  barman(...words: readonly string[]): string;
  /** Makes a base backup by the program of the backup host. Programs of a folder may be before all others. */
  makeBackup(folder?: string): Said;
  /** Makes one as the version before did: files, not compressed. */
  makeOldBackup(): void;
  /** Waits until all that the server has written is in the repository. */
  untilReceived(): Promise<void>;
  /**
   * Offers a recovery. A folder may be in place of the repository, and programs of a folder before
   * all others.
   */
  offerRecovery(time: string, from?: string, folder?: string): Said;
  /** Offers again all that arrived, once the databases were stopped. */
  renewRecovery(folder?: string): Said;
  /** Recovers to the end of all that arrived as the version before did: staged, then fetched. */
  receiveOldWay(): void;
  /** Fetches what is offered. `killedAt` ends it when its copy has that file. */
  receive(time: string, options?: { readonly killedAt?: string }): Promise<Said>;
  /** How many times the backup host has sent a file of the base backup. */
  timesSent(name: string): number;
  /** Starts a drill. The programs of a folder may be before all others. */
  drill(folder?: string): Said;
  /** Starts the new server, and waits until it has recovered. It takes the data directory. */
  start(): Promise<Postgres>;
  /**
   * Adds what a recovered server has written, as if it sent that: its timeline and its log.
   *
   * @param options `isArchived`: whether Barman has archived it, default true. `lost`: so many
   * segments from its beginning are not there, as after `barman receive-wal --reset`
   * @returns removes it
   */
  addLogOf(
    recovered: Postgres,
    options?: { readonly isArchived?: boolean; readonly lost?: number },
  ): () => void;
  end(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

function said(program: string, words: readonly string[], env: NodeJS.ProcessEnv): Said {
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8', env, timeout: 300_000 });
  return { code: status, said: stdout + stderr };
}

/** Barman's settings as the deployment has them, for the socket of the server. */
function writeBarman(folder: string, source: Postgres, home: string): void {
  const values: Readonly<Record<string, string | number>> = {
    address: source.socket,
    port: source.port,
    user: source.user,
    database: 'state_db',
    folder: home,
    programs: '/usr/lib/postgresql/15/bin',
    slot: 'barman',
    keep_days: 7,
    oldest_hours: 49,
    verifying: '',
  };
  const settings = settingsOfBarman.replaceAll(/\{\{ (\w+) \}\}/g, (_, name: string) => String(values[name]));
  const general = `[barman]\nbarman_user = barman\nbarman_home = ${home}\nlog_file = ${home}/log\n`;
  writeFileSync(join(folder, 'barman.conf'), general + settings);
  writeFileSync(join(folder, 'old.conf'), general + settings.replaceAll(/^backup_compression.*\n/gm, ''));
}

/** In place of docker: no container but that of a drill, which is a PostgreSQL of its own. */
const dockerOf = (folder: string): string => `#!/bin/sh
data=/run/rpc-node-drill
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
case $1 in
  run)
    mkdir -p ${folder}/drill && chown -R postgres:postgres "$data" ${folder}/drill || exit
    as_postgres /usr/lib/postgresql/15/bin/pg_ctl --pgdata="$data" --no-wait --log=${folder}/drill/log \\
      --options="-c hot_standby=off -c listen_addresses= -c unix_socket_directories=${folder}/drill" start
    # A container is there when its start returns.
    for _ in $(seq 300); do [ ! -e "$data/postmaster.pid" ] || break; sleep 0.1; done ;;
  exec) while [ "$1" != psql ]; do shift; done; exec "$@" --host=${folder}/drill ;;
  inspect) [ -e "$data/postmaster.pid" ] && echo true ;;
  logs) cat ${folder}/drill/log ;;
  rm) [ ! -e "$data/postmaster.pid" ] || as_postgres /usr/lib/postgresql/15/bin/pg_ctl --pgdata="$data" --mode=immediate stop ;;
esac
`;

/** The programs of the backup host, and what stands for docker. */
function writePrograms(folder: string, repository: string, source: Postgres, pieceSize?: number): string {
  const programs = join(folder, 'bin');
  mkdirSync(programs, { mode: 0o755 });
  const program = (name: string, text: string) => writeFileSync(join(programs, name), text, { mode: 0o755 });
  program('barman', `#!/bin/sh\nexec /usr/bin/barman -c \${BARMAN:-${folder}/barman.conf} "$@"\n`);
  program('docker', dockerOf(folder));
  const cutBackup = template('cut-backup.py');
  program(
    'cut-backup',
    pieceSize === undefined ? cutBackup : cutBackup.replace(/^LIMIT = .*$/m, `LIMIT = ${pieceSize}`),
  );
  program(
    'base-backup',
    ['as-user', 'base-backups', 'cut-base', 'base-backup'].map((each) => template(`${each}.sh`)).join('\n'),
  );
  program(
    'recovery',
    ['as-user', 'unpack-recovery', 'cut-base', 'base-backups', 'timeline', 'recovery']
      .map((name) => template(`${name}.sh`))
      .join('\n'),
  );
  const settings = shellSettings({
    REPOSITORY: repository,
    RESULTS: join(folder, 'results'),
    PROGRAMS: '/usr/lib/postgresql/15/bin',
    CONNECTION: `host=${source.socket} port=${source.port} user=${source.user} dbname=state_db`,
    IMAGE: 'postgres:15',
    STATE_USER: source.user,
    STATE_DATABASE: 'state_db',
    PROVER_DATABASE: 'prover_db',
  });
  writeFileSync(join(folder, 'recovery.conf'), settings);
  return programs;
}

/**
 * Starts all of it, with an empty state database. Needs root.
 *
 * @param settings more of them, for the server
 * @param pieceSize bytes after which a piece of a base backup ends; default: those of the deployment
 */
export async function startRepository(
  settings: Readonly<Record<string, string>> = {},
  pieceSize?: number,
): Promise<Repository> {
  installMissing([
    ['/usr/bin/barman', 'barman'],
    ['/usr/bin/rsync', 'rsync'],
    ['/usr/bin/zstd', 'zstd'],
  ]);
  const folder = mkdtempSync('/var/tmp/backup-repository-');
  execFileSync('chmod', ['755', folder]);
  const [home, offer] = [join(folder, 'backup'), join(folder, 'backup/recovery')];
  const repository = join(home, 'state-db');
  mkdirSync(home, { mode: 0o700 });
  execFileSync('chown', ['barman:barman', home]);
  const source = await startPostgres(folder, { fsync: 'off', max_wal_size: '1GB', ...settings });
  execFileSync('chmod', ['755', join(source.socket, '..'), source.socket]);
  source.sql('postgres', 'create database state_db');
  source.sql('postgres', 'create database prover_db');
  writeBarman(folder, source, home);
  const programs = writePrograms(folder, repository, source, pieceSize);
  const env = {
    ...process.env,
    PATH: `${programs}:${process.env.PATH}`,
    RECOVERY_CONF: join(folder, 'recovery.conf'),
  };
  const barman = (...words: readonly string[]) =>
    execFileSync('runuser', ['-u', 'barman', '--', 'barman', ...words], { env, encoding: 'utf8' });
  barman('-q', 'receive-wal', '--create-slot', 'state-db');
  const receiver = spawn('runuser', ['-u', 'barman', '--', 'barman', '-q', 'receive-wal', 'state-db'], {
    env,
    stdio: 'ignore',
  });
  const received = once(receiver, 'exit');
  // Barman makes no backup before it has a segment of the log.
  for (
    let tries = 0;
    source.sql('postgres', 'select count(*) from pg_stat_replication') === '0';
    tries += 1
  ) {
    if (tries === 300) throw new Error('Barman does not connect');
    await delay(100);
  }
  barman('-q', 'switch-wal', '--force', '--archive', '--archive-timeout', '60', 'state-db');
  const port = await freePort();
  const configuration = join(folder, 'rsyncd.conf');
  writeFileSync(
    configuration,
    `log file = ${folder}/sent\ntransfer logging = yes\nlog format = %f\nuse chroot = no\nuid = barman\ngid = barman\n[recovery]\npath = ${offer}\nread only = yes\nauth users = recovery\nsecrets file = ${folder}/secrets\n`,
  );
  writeFileSync(join(folder, 'secrets'), 'recovery:backup.Pw~4\n', { mode: 0o600 });
  writeFileSync(join(folder, 'password'), 'backup.Pw~4\n', { mode: 0o600 });
  const words = [
    '--daemon',
    '--no-detach',
    '--address=127.0.0.1',
    `--port=${port}`,
    `--config=${configuration}`,
  ];
  const server = spawn('rsync', words, { stdio: 'ignore' });
  const data = join(folder, 'new/state-db');

  const withFirst = (before = programs) => ({ ...env, PATH: `${before}:${env.PATH}` });
  async function untilReceived(): Promise<void> {
    const at = source.sql('postgres', 'select pg_current_wal_lsn()');
    const query = `select coalesce(bool_or(write_lsn >= '${at}'), false) from pg_stat_replication`;
    for (let tries = 0; source.sql('postgres', query) !== 't'; tries += 1) {
      if (tries === 300) throw new Error('the write-ahead log does not arrive');
      await delay(100);
    }
  }
  async function receive(time: string, { killedAt }: { readonly killedAt?: string } = {}): Promise<Said> {
    const settings = shellSettings({
      SOURCE: `rsync://recovery@127.0.0.1:${port}/recovery`,
      PASSWORD_FILE: join(folder, 'password'),
      WORKERS: 2,
      DATA: data,
      TIME: time,
      SET_ASIDE: 'true',
    });
    const child = spawn('sh', ['-c', settings + receiveScript], { env, detached: true });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
    const closed = once(child, 'close');
    if (killedAt !== undefined) {
      const seen = join(`${data}.rpc-node-copy`, killedAt);
      while (!existsSync(seen) && child.exitCode === null) await delay(2);
      if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
    }
    const [code] = (await closed) as [number | null];
    return { code, said: text };
  }
  return {
    folder,
    source,
    repository,
    offer,
    data,
    barman,
    untilReceived,
    receive,
    makeBackup: (before) =>
      said(
        join(programs, 'base-backup'),
        [join(folder, 'results'), '--immediate-checkpoint'],
        withFirst(before),
      ),
    makeOldBackup: () => {
      execFileSync(
        'runuser',
        ['-u', 'barman', '--', 'barman', '-q', 'backup', '--wait', '--immediate-checkpoint', 'state-db'],
        { env: { ...env, BARMAN: join(folder, 'old.conf') } },
      );
    },
    offerRecovery: (time, from, before) =>
      said(
        join(programs, 'recovery'),
        ['offer', offer, time, ...(from === undefined ? [] : [from])],
        withFirst(before),
      ),
    renewRecovery: (before) =>
      said(join(programs, 'recovery'), ['renew', offer, 'latest'], withFirst(before)),
    receiveOldWay: () => {
      const staged = offer;
      rmSync(staged, { recursive: true, force: true });
      barman('-q', 'verify-backup', 'state-db', 'latest');
      barman('-q', 'recover', 'state-db', 'latest', staged);
      const address = `rsync://recovery@127.0.0.1:${port}/recovery/`;
      execFileSync('mkdir', ['-p', data]);
      execFileSync('rsync', [
        '--archive',
        '--partial',
        `--password-file=${folder}/password`,
        address,
        `${data}/`,
      ]);
      // As that version: to the end of the log in its place.
      execFileSync('sh', [
        '-c',
        `touch "$1/recovery.signal"; echo "restore_command = 'false'" >>"$1/postgresql.auto.conf"`,
        'sh',
        data,
      ]);
    },
    timesSent: (name) =>
      readFileSync(join(folder, 'sent'), 'utf8')
        .split('\n')
        .filter((line) => line.endsWith(name)).length,
    drill: (before) =>
      said(join(programs, 'recovery'), ['drill', join(home, 'drill'), 'latest'], withFirst(before)),
    async start() {
      const started = await startPostgres(folder, { fsync: 'off' }, (own) => {
        rmSync(own, { recursive: true });
        execFileSync('mv', [data, own]);
        execFileSync('chown', ['-R', 'postgres:postgres', own]);
      });
      for (let tries = 0; started.sql('postgres', 'select pg_is_in_recovery()') !== 'f'; tries += 1) {
        if (tries === 600) throw new Error('the server does not come to the end of its recovery');
        await delay(100);
      }
      return started;
    },
    addLogOf(recovered, { isArchived = true, lost = 0 } = {}) {
      const last = recovered.sql('postgres', 'select pg_walfile_name(pg_switch_wal())');
      const [timeline, folder] = [last.slice(0, 8), last.slice(0, 16)];
      const log = join(recovered.sql('postgres', 'show data_directory'), 'pg_wal');
      const add = (name: string, to: string) => {
        const target = join(repository, isArchived ? join('wals', to) : 'streaming', name);
        execFileSync('install', ['-D', '-o', 'barman', '-g', 'barman', join(log, name), target]);
      };
      const segments = readdirSync(log)
        .filter((name) => /^[0-9A-F]{24}$/.test(name) && name.startsWith(folder) && name <= last)
        .sort();
      for (const name of segments.slice(lost)) add(name, folder);
      add(`${timeline}.history`, '');
      return () => {
        for (const name of [folder, `${timeline}.history`])
          rmSync(join(repository, 'wals', name), { recursive: true, force: true });
        for (const name of readdirSync(join(repository, 'streaming')))
          if (name.startsWith(timeline)) rmSync(join(repository, 'streaming', name));
      };
    },
    async end() {
      // Its own child ends with it.
      spawnSync('runuser', ['-u', 'barman', '--', 'barman', '-q', 'receive-wal', '--stop', 'state-db'], {
        env,
      });
      await received;
      server.kill();
      await source.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
