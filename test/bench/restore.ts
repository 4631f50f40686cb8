import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { installMissing } from '../install-missing.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import { machine, putSection, spread } from './page.ts';

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

/** With its indexes a part of the tables takes about 1.08 MB. */
const partsInMegabyte = 0.93;

/**
 * Four tables like those of the state database, with keys, references and the specified indexes.
 */
const made = (parts: number): string => `
create schema state;
create function pg_temp.hash(text) returns text language sql as $$ select '0x' || encode(sha256($1::bytea), 'hex') $$;
create table state.l2block (block_num bigint primary key, block_hash text not null, header jsonb, uncles jsonb, parent_hash text,
  state_root text, received_at timestamptz not null, created_at timestamptz not null);
insert into state.l2block select n, pg_temp.hash('b' || n), jsonb_build_object('number', n, 'stateRoot', pg_temp.hash('s' || n),
  'receiptsRoot', pg_temp.hash('r' || n), 'gasLimit', 30000000, 'timestamp', 1700000000 + 3 * n), '[]', pg_temp.hash('b' || (n - 1)),
  pg_temp.hash('s' || n), to_timestamp(1700000000 + 3 * n), to_timestamp(1700000000 + 3 * n) from generate_series(1, ${parts} * 250) n;
create table state.transaction (hash text primary key, encoded text, decoded jsonb, l2_block_num bigint references state.l2block);
insert into state.transaction select pg_temp.hash('t' || n), pg_temp.hash('e' || n) || pg_temp.hash('f' || n), jsonb_build_object(
  'nonce', n, 'to', pg_temp.hash('a' || n % 9999), 'input', pg_temp.hash('i' || n), 'r', pg_temp.hash('x' || n)),
  1 + n / 2 from generate_series(0, ${parts} * 500 - 1) n;
create table state.receipt (tx_hash text primary key references state.transaction, type int, status int, cumulative_gas_used bigint,
  gas_used bigint, block_num bigint references state.l2block, tx_index int, contract_address text);
insert into state.receipt select hash, 0, 1, 21000, 21000, l2_block_num, 0, pg_temp.hash('c' || l2_block_num) from state.transaction;
create table state.log (tx_hash text references state.transaction, log_index int, address text, data text, topic0 text, topic1 text,
  topic2 text, topic3 text, primary key (tx_hash, log_index));
insert into state.log select hash, 0, pg_temp.hash('a' || l2_block_num % 999), pg_temp.hash('d' || hash),
  pg_temp.hash('k' || l2_block_num % 99), pg_temp.hash('l' || hash), pg_temp.hash('m' || hash), null from state.transaction;
create index l2block_block_hash_idx on state.l2block (block_hash);
create index l2block_created_at_idx on state.l2block (created_at);
create index log_log_index_idx on state.log (log_index);
create index log_topic0_idx on state.log (topic0);
create index log_topic1_idx on state.log (topic1);
create index log_topic2_idx on state.log (topic2);
create index log_topic3_idx on state.log (topic3);
create index idx_receipt_tx_index on state.receipt (block_num, tx_index);
create index receipt_block_num_idx on state.receipt (block_num);`;

/**
 * Recovers a server from a base backup of it, as `recover.mjs` does apart from the network: the
 * files are copied to the place where the log is added, and from there to the new server, which
 * starts.
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
${machine}, with other work at the same time (load ${otherLoad.toFixed(1)} as it began). PostgreSQL ${versions.join(', ')}.
`;
}
