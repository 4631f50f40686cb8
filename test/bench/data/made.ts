import { execFile, execFileSync } from 'node:child_process';
import { existsSync, rmdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Postgres, startPostgres } from '../../postgres.ts';

const run = promisify(execFile);

/** Of all servers of the bench: those of the deployment, except memory and connections. */
export const serverSettings = {
  shared_buffers: '1GB',
  maintenance_work_mem: '512MB',
  max_wal_size: '4GB',
  checkpoint_completion_target: '0.7',
};

/** With its index, 1 GB of the hash store has so many nodes. */
const nodesInGigabyte = 4_600_000;
/** With their indexes, 1 GB of logs has so many. */
const logsInGigabyte = 1_050_000;
/** Of all bytes, those of the hash store. */
const shareOfHashes = 0.6;

/** The databases that the bench copies, and the tables in them. */
export const databases = ['source_state', 'source_hashes'] as const;

const blocks = `create schema state;
  create table public.gorp_migrations (id text); insert into gorp_migrations values ('0001.sql');
  create table state.l2block (block_num bigint primary key, block_hash text);
  insert into state.l2block select n, '0x' || encode(sha256(n::text::bytea), 'hex') from generate_series(1, 40000) n;`;

/** Logs with the indexes of the specification. In one transaction no log is written. */
const logs = (count: number) => `begin;
  create table state.log (tx_hash text, log_index int, address text, data text, topic0 text, topic1 text, topic2 text, topic3 text);
  insert into state.log select h, n % 50, left(h, 42), h, h, '0x' || encode(sha256(('a' || n)::bytea), 'hex'),
    '0x' || encode(sha256(('b' || n)::bytea), 'hex'), null
  from (select n, '0x' || encode(sha256(n::text::bytea), 'hex') as h from generate_series(1, ${count}) n) made;
  alter table state.log add primary key (tx_hash, log_index);
  create index log_log_index_idx on state.log (log_index);
  ${[0, 1, 2, 3].map((n) => `create index log_topic${n}_idx on state.log (topic${n});`).join('\n')}
  commit; vacuum analyze;`;

/** Nodes of a hash store as the prover writes them: a hash of 32 bytes, and three of them as data. */
const nodes = (count: number) => `begin;
  create schema state authorization source_prover; create table state.nodes (hash bytea, data bytea not null);
  insert into state.nodes select h, h || sha256(h) || sha256(n::text::bytea || h)
  from (select n, sha256((-n)::text::bytea) as h from generate_series(1, ${count}) n) made;
  alter table state.nodes add primary key (hash); alter table state.nodes owner to source_prover;
  commit; vacuum analyze;`;

/**
 * A server with a state database and a hash store of so many GB.
 *
 * @param parent where its data directory goes
 */
export async function startFilled(parent: string, gigabytes: number): Promise<Postgres> {
  // Such a server writes no log for tables of the same transaction.
  const quick = { wal_level: 'minimal', max_wal_senders: '0', fsync: 'off' };
  const first = await startPostgres(parent, { ...serverSettings, ...quick });
  first.sql('postgres', 'create role source_prover login');
  first.sql('postgres', 'create database source_state');
  first.sql('postgres', 'create database source_hashes owner source_prover');
  first.sql('source_state', blocks);
  const fill = (database: string, statements: string) =>
    run('psql', ['-Xqd', database, '--set=ON_ERROR_STOP=1', '-c', '\\set QUIET on', ...each(statements)], {
      env: { ...process.env, ...first.environment },
    });
  await Promise.all([
    fill('source_hashes', nodes(Math.ceil(gigabytes * shareOfHashes * nodesInGigabyte))),
    fill('source_state', logs(Math.ceil(gigabytes * (1 - shareOfHashes) * logsInGigabyte))),
  ]);
  return restarted(parent, first);
}

const each = (statements: string) =>
  statements.split(';').flatMap((one) => (one.trim() === '' ? [] : ['-c', one.trim()]));

/** The same data in a server that can be copied and followed. */
async function restarted(parent: string, first: Postgres): Promise<Postgres> {
  const data = first.sql('postgres', 'show data_directory');
  process.kill(first.pid, 'SIGINT');
  while (existsSync(`${data}/postmaster.pid`)) await delay(100);
  const server = await startPostgres(parent, serverSettings, (own) => {
    rmdirSync(own);
    execFileSync('mv', [data, own]);
  });
  await first.stop();
  return server;
}

/** Bytes of both databases. */
export const sizeOf = (server: Postgres): number =>
  databases.reduce(
    (sum, name) => sum + Number(server.sql('postgres', `select pg_database_size('${name}')`)),
    0,
  );

/** Rows of the large tables: what a copy has to have. */
export const rowsOf = (server: Pick<Postgres, 'sql'>): string =>
  [
    server.sql('source_state', 'select count(*), max(tx_hash) from state.log'),
    server.sql(
      'source_hashes',
      'select count(*), (select hash from state.nodes order by hash desc limit 1) from state.nodes',
    ),
  ].join(' ');
