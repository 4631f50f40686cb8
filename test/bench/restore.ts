import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { installMissing } from '../install-missing.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import { machine, putSection, spread } from './page.ts';
import { made, partsInMegabyte } from './state-tables.ts';

/** The node's own tool restores with one job. */
const jobs = [1, 2, 4] as const;

/** Seconds of each restore by number of jobs, in the order of the rounds. */
type Seconds = Readonly<Record<(typeof jobs)[number], readonly number[]>>;

export interface MeasuredRestore {
  readonly seconds: Seconds;
  /** Seconds of each recovery from a base backup. */
  readonly recovered: readonly number[];
  /** Bytes of the restored database and of the archive. */
  readonly megabytes: { readonly database: number; readonly archive: number };
  readonly tables: readonly string[];
  readonly versions: readonly string[];
  /** Average number of other running processes in the minute before. */
  readonly otherLoad: number;
  readonly date: string;
}

/**
 * The server has the settings of the deployment, except its memory, which is that of a small
 * machine.
 */
const settings = {
  shared_buffers: '1GB',
  maintenance_work_mem: '128MB',
  max_wal_size: '4GB',
  checkpoint_completion_target: '0.7',
};

/**
 * Recovers a server from a base backup of it, whose files are copied twice: to the place where
 * the log is added, and from there to the new server, which starts. Recoveries did that before
 * base backups were pieces.
 *
 * @returns seconds until it answers
 */
async function recover(postgres: Postgres, parent: string, rows: string): Promise<number> {
  const folder = mkdtempSync(join(parent, 'recover-bench-'));
  const [base, staged] = [join(folder, 'base'), join(folder, 'staged')];
  try {
    execFileSync('pg_basebackup', [`--pgdata=${base}`, '--checkpoint=fast'], {
      env: { ...process.env, ...postgres.environment },
      stdio: 'ignore',
    });
    execFileSync('sync');
    const start = performance.now();
    const recovered = await startPostgres(parent, settings, (data) => {
      execFileSync('rsync', ['-a', `${base}/`, `${staged}/`]);
      execFileSync('rsync', ['-a', '--chown=postgres:postgres', `${staged}/`, `${data}/`]);
    });
    try {
      const took = (performance.now() - start) / 1000;
      if (recovered.sql('restored', rowsOf) !== rows)
        throw new Error('the base backup did not have everything');
      return took;
    } finally {
      await recovered.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Fills a database, dumps it, and restores the dump with each number of jobs in turn, and once in
 * each round from a base backup. The source is removed first, so that the kernel caches only data
 * of the restores.
 *
 * @param stopped ends it after the current restore
 * @throws Error without enough space, after an incomplete restore, or when it was stopped
 */
export async function measureRestore(
  parent: string,
  megabytes: number,
  rounds: number,
  { say, stopped }: { readonly say: (line: string) => void; readonly stopped: AbortSignal },
): Promise<MeasuredRestore> {
  const { bavail, bsize } = statfsSync(parent);
  const free = Math.floor((bavail * bsize) / 1e6);
  const needed = 5 * megabytes + 10_000;
  if (free < needed) throw new Error(`${parent} has ${free} MB free, and ${needed} are needed`);
  const otherLoad = loadavg()[0] ?? 0;
  installMissing([['/usr/bin/rsync', 'rsync']]);
  const postgres = await startPostgres(parent, settings);
  const folder = mkdtempSync(join(parent, 'restore-bench-'));
  try {
    const archive = join(folder, 'state.dump');
    const env = { ...process.env, ...postgres.environment };
    const run = (program: string, ...words: string[]) =>
      execFileSync(program, words, { env, stdio: 'ignore' });
    say(`filling a database of about ${megabytes} MB`);
    postgres.sql('postgres', 'create database filled');
    postgres.sql('filled', made(Math.ceil(megabytes * partsInMegabyte)));
    const [tables = '', rows = '', size = ''] = [tablesOf, rowsOf, sizeOf].map((query) =>
      postgres.sql('filled', query),
    );
    run('pg_dump', '--format=custom', `--file=${archive}`, 'filled');
    postgres.sql('postgres', 'drop database filled');
    const seconds = { 1: [], 2: [], 4: [] } as Record<(typeof jobs)[number], number[]>;
    const recovered: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // Each number of jobs has each position in turn.
      for (const count of [...jobs.slice(round % jobs.length), ...jobs.slice(0, round % jobs.length)]) {
        await nextTurn();
        stopped.throwIfAborted();
        postgres.sql('postgres', 'create database restored');
        postgres.sql('postgres', 'checkpoint');
        const began = performance.now();
        run(
          'pg_restore',
          '--exit-on-error',
          '--no-owner',
          '--no-acl',
          `--jobs=${count}`,
          '--dbname=restored',
          archive,
        );
        const took = (performance.now() - began) / 1000;
        seconds[count].push(took);
        say(`round ${round + 1}: ${count} ${count === 1 ? 'job' : 'jobs'}, ${took.toFixed(1)} s`);
        if (postgres.sql('restored', rowsOf) !== rows)
          throw new Error(`${count} jobs did not restore everything`);
        if (count === 1) {
          const again = await recover(postgres, parent, rows);
          recovered.push(again);
          say(`round ${round + 1}: from a base backup, ${again.toFixed(1)} s`);
        }
        postgres.sql('postgres', 'drop database restored');
      }
    }
    return {
      seconds,
      recovered,
      megabytes: {
        database: Math.round(Number(size) / 1e6),
        archive: Math.round(statSync(archive).size / 1e6),
      },
      tables: tables.split('\n'),
      versions: [postgres.sql('postgres', 'show server_version'), `Node ${process.versions.node}`],
      otherLoad,
      date: new Date().toISOString().slice(0, 10),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await postgres.stop();
  }
}

const tablesOf = `select format('%s %s MB', relname, pg_total_relation_size(oid) / 1000000) from pg_class
  where relnamespace = 'state'::regnamespace and relkind = 'r' order by 1`;
const rowsOf = `select (select count(*) from state.l2block), (select count(*) from state.transaction), (select count(*) from state.receipt),
  (select count(*) from state.log), (select count(*) from pg_indexes where schemaname = 'state'), (select count(*) from pg_constraint
  where connamespace = 'state'::regnamespace)`;
const sizeOf = 'select pg_database_size(current_database())';

/**
 * Writes the table into the page.
 *
 * @returns the table
 */
export function saveRestore(measured: MeasuredRestore): string {
  const table = tableOf(measured);
  putSection('restore', `\n${table}`);
  return table;
}

function tableOf({
  seconds,
  recovered,
  megabytes,
  tables,
  versions,
  otherLoad,
  date,
}: MeasuredRestore): string {
  const rowOf = (name: string, own: readonly number[]) => {
    const ratios = own.map((value, round) => value / (seconds[1][round] ?? Number.NaN));
    const part = own === seconds[1] ? '1' : spread(ratios, (value) => value.toFixed(2));
    return `| ${name} | ${spread(own, (value) => value.toFixed(1))} | ${part} |`;
  };
  const rows = [
    ...jobs.map((count) => rowOf(`pg_restore, ${count} ${count === 1 ? 'job' : 'jobs'}`, seconds[count])),
    rowOf('a base backup', recovered),
  ];
  return `| Restored by | Seconds | Of one job's time |
|---|---|---|
${rows.join('\n')}

${date}, ${seconds[1].length} rounds. A database of ${megabytes.database} MB (with indexes: ${tables.join(', ')}), an archive of ${megabytes.archive} MB.
${machine}, (load ${otherLoad.toFixed(1)} as it began). PostgreSQL ${versions.join(', ')}.
`;
}
