import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shellSettings } from '../../lib/engine/host/shell-settings.ts';
import { type PhysicalManifest, physicalManifestSchema } from '../../lib/node/variables/manifest.ts';
import { type Postgres, startPostgres } from '../postgres.ts';

// Physical snapshots with real PostgreSQL servers, and a program in place of docker: a container is
// a mount namespace with the volumes, in which programs run as the user postgres.

const template = (name: string) =>
  readFileSync(new URL(`../../templates/host/${name}.sh`, import.meta.url), 'utf8');
const takeScript = ['base-backups', 'claim-databases', 'physical-snapshot'].map(template).join('\n');
const unpackScript = ['data-place', 'claim-databases', 'fetch', 'unpack-snapshot'].map(template).join('\n');

/** What takes and unpacks snapshots, beside the servers: program and package. */
export const snapshotPrograms = [
  ['/usr/bin/zstd', 'zstd'],
  ['/usr/bin/bsdtar', 'libarchive-tools'],
] as const;

/** The manifest of the snapshot in a folder. */
export const manifestOf = (folder: string): PhysicalManifest =>
  physicalManifestSchema.parse(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')));

/** All that is in the pieces of a folder, or in those with certain names. */
export const contentOf = (folder: string, names = /./): Buffer => {
  const files = manifestOf(folder).pieces.map(({ file }) => file);
  return execFileSync('zstd', ['-dcq', ...files.filter((file) => names.test(file))], {
    cwd: folder,
    maxBuffer: 2 ** 30,
  });
};

/** The names of the files and folders in the snapshot of a folder, without large files. */
export const membersOf = (folder: string): readonly string[] =>
  execFileSync('tar', ['-tf', '-'], { input: contentOf(folder, /tar/), encoding: 'utf8' }).split('\n');

/** What must not be in a published snapshot. */
export const secretsOfSource = [
  'state.Source~1',
  'prover.Source~2',
  'replica.Source~3',
  '10.99.88.77',
  'state_user',
  'source_hashes',
  'source_prover',
  'rpc_node_replica',
  'note.Source~4',
  'note.Source~5',
] as const;

/** Starts a server with both databases, roles, settings and addresses of a deployment. */
export async function startSource(parent: string): Promise<Postgres> {
  const source = await startPostgres(parent, { fsync: 'off', wal_level: 'replica' });
  source.sql(
    'postgres',
    `alter role state_user password 'state.Source~1';
     create role source_prover login password 'prover.Source~2';
     create role rpc_node_replica login replication password 'replica.Source~3';
     create role somebody;
     create database source_state; create database source_hashes owner source_prover;
     alter system set max_slot_wal_keep_size = '1GB';
     alter system set primary_conninfo = 'host=10.99.88.77 password=replica.Source~3';
     alter role source_prover set search_path to state;
     alter database source_state set application_name to '10.99.88.77';`,
  );
  source.sql(
    'source_state',
    `create schema state; create table state.l2block (block_num bigint primary key, block_hash text, filler text);
     create table public.gorp_migrations (id text); insert into gorp_migrations values ('0001.sql'), ('0002.sql');
     create table state.foreign_table (n int); alter table state.foreign_table owner to somebody;
     grant usage on schema state to rpc_node_replica; grant select on state.l2block to rpc_node_replica;
     insert into state.l2block select n, '0x' || lpad(to_hex(n), 64, '0'), md5(n::text) || md5((-n)::text) from generate_series(1, 40000) n;`,
  );
  source.sql(
    'source_hashes',
    `create schema state authorization source_prover; create table state.nodes (hash bytea primary key, data bytea not null);
     insert into state.nodes select sha256(n::text::bytea), sha256((-n)::text::bytea) from generate_series(1, 20000) n;
     alter table state.nodes owner to source_prover; analyze;`,
  );
  source.sql('postgres', "create table notes (t text); insert into notes values ('note.Source~4')");
  source.sql('template1', "create table notes (t text); insert into notes values ('note.Source~5')");
  source.sql('postgres', "analyze; select pg_create_physical_replication_slot('rpc_node_replica_1')");
  const data = source.sql('postgres', 'show data_directory');
  const hba = join(data, 'pg_hba.conf');
  writeFileSync(
    hba,
    `${readFileSync(hba, 'utf8')}\nhost replication rpc_node_replica 10.99.88.77/32 scram-sha-256\n`,
  );
  return source;
}

/** A standby of the source that follows it. */
export async function startStandby(parent: string, source: Postgres): Promise<Postgres> {
  const standby = await startPostgres(parent, { fsync: 'off', hot_standby: 'on' }, (own) => {
    const words = [
      '--reuid=postgres',
      '--regid=postgres',
      '--init-groups',
      '/usr/lib/postgresql/15/bin/pg_basebackup',
    ];
    const server = `host=${source.socket} port=${source.port} user=${source.user}`;
    rmSync(own, { recursive: true });
    execFileSync('setpriv', [...words, '-D', own, '-R', '--checkpoint=fast', '-d', server]);
  });
  return standby;
}

export interface Ended {
  readonly code: number | null;
  readonly said: string;
}

/** Runs a script with the programs of a folder, in a process group of its own. */
function run(base: string, script: string) {
  const child = spawn('sh', ['-c', script], {
    env: { ...process.env, PATH: `${base}:${process.env.PATH}` },
    detached: true,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, said })));
  const says = async (words: RegExp) => {
    while (!words.test(said)) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  // It may have ended before the signal.
  const kill = (signal: NodeJS.Signals) => {
    if (child.exitCode === null) process.kill(-(child.pid ?? 0), signal);
  };
  return { ended, says, kill };
}

type Settings = Readonly<Record<string, string | number>>;

/** The settings of a snapshot of the source. */
const takeSettings = (folder: string, source: Postgres) => ({
  FOLDER: folder,
  DATABASE_USER: source.user,
  STATE_DATABASE: 'source_state',
  STATE_TABLE: 'state.l2block',
  PROVER_DATABASE: 'source_hashes',
  PROVER_USER: 'source_prover',
  PUBLISH: 'false',
  SOURCE: 'server',
  PIECE: 4 * 1024 * 1024,
  MANIFEST: JSON.stringify({
    format: 'physical',
    version: '0.1.0',
    network: 'test',
    chain_id: 11155111,
    l2_chain_id: null,
    password_hashes: true,
  }),
});

/** The settings of a server under other names. The prover's database gets that of the state. */
const unpackSettings = (url: string, data: string, manifest: PhysicalManifest) => ({
  IMAGE: 'postgres:15',
  DATA: data,
  URL: url,
  SHOWN: url,
  KEYS: '',
  MANIFEST: 'a'.repeat(64),
  PIECES: linesOf(manifest),
  CONNECTIONS: 3,
  BLOCK: manifest.block,
  HASH: manifest.hash,
  STATE_TABLE: 'state.l2block',
  PROVER_TABLE: 'state.nodes',
  SNAPSHOT: '2024-06-01',
  SOURCE_USER: manifest.superuser,
  STATE_OID: manifest.state_oid,
  PROVER_OID: manifest.prover_oid,
  PROVER_ROLE_OID: manifest.prover_role_oid,
  STATE_USER: 'new_state',
  STATE_DATABASE: 'new_state_db',
  PROVER_USER: 'new_prover',
  PROVER_DATABASE: 'source_state',
});

/** A folder with programs, in which snapshots are taken and unpacked. */
export function workshop(parent: string, source: Postgres) {
  const base = mkdtempSync(join(parent, 'physical-'));
  execFileSync('chmod', ['755', base]);
  const program = new URL('fake-docker.sh', import.meta.url);
  writeFileSync(join(base, 'docker'), readFileSync(program), { mode: 0o755 });
  writeFileSync(join(base, 'source'), `export PGHOST=${source.socket} PGPORT=${source.port}\n`);
  const stopContainers = () => void spawnSync(join(base, 'docker'), ['rm', 'x']);
  return {
    base,
    /** Takes a snapshot into a folder. */
    take: (folder: string, more: Settings = {}) =>
      run(base, shellSettings({ ...takeSettings(folder, source), ...more }) + takeScript),
    /**
     * Unpacks the snapshot of a manifest from a web address into a data directory.
     *
     * @param before lines of shell that come first
     */
    unpack(url: string, data: string, manifest: PhysicalManifest, more: Settings = {}, before = '') {
      const passwords = join(base, 'passwords');
      writeFileSync(passwords, 'state.New~1\nprover.New~2\n', { mode: 0o600 });
      const settings = { ...unpackSettings(url, data, manifest), PASSWORD_FILE: passwords, ...more };
      return run(base, before + shellSettings(settings) + unpackScript);
    },
    /** What outlives a script that was killed. */
    stopContainers,
    /** A curl that gives up a silent server after seconds, not minutes. */
    impatient() {
      const curl = '#!/bin/sh\nexec /usr/bin/curl "$@" --speed-time 2\n';
      writeFileSync(join(base, 'curl'), curl, { mode: 0o755 });
    },
    remove() {
      stopContainers();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

const linesOf = ({ pieces }: PhysicalManifest) =>
  pieces
    .map(({ file, sha256, bytes, raw, first, last }) =>
      [
        file,
        sha256,
        bytes,
        raw,
        first?.path ?? '-',
        first?.at ?? 0,
        first?.bytes ?? 0,
        last?.path ?? '-',
        last?.bytes ?? 0,
      ].join(' '),
    )
    .join('\n');

/** A server on a copy of an unpacked data directory, or on the directory itself. */
export async function startUnpacked(parent: string, data: string, how: 'cp' | 'mv' = 'cp') {
  const server = await startPostgres(parent, { fsync: 'off' }, (own) => {
    if (how === 'cp') execFileSync('cp', ['-a', `${data}/.`, own]);
    else execFileSync('sh', ['-c', 'rmdir "$2" && mv "$1" "$2"', 'mv', data, own]);
  });
  const env = { ...process.env, ...server.environment, PGUSER: 'new_state' };
  return {
    stop: server.stop,
    sql: (database: string, statement: string) =>
      execFileSync('psql', ['-XqAt', '--set=ON_ERROR_STOP=1', `--dbname=${database}`, '-c', statement], {
        env,
        encoding: 'utf8',
      }).trim(),
  };
}
