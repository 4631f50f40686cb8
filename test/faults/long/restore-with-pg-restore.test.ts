import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Progress } from '../../../lib/engine/host/host.ts';
import { Output } from '../../../lib/engine/host/output.ts';
import { createReader } from '../../../lib/engine/host/reader.ts';
import { shell } from '../../../lib/engine/host/shell.ts';
import { connectLocally } from '../../../lib/engine/host/testing/local-connection.ts';
import { fakeHost } from '../../../lib/engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../../lib/engine/resource/testing/test-host.ts';
import { assessDatabases, type SnapshotDatabase } from '../../../lib/node/snapshot/database-contents.ts';
import { snapshotIsRestored } from '../../../lib/node/snapshot/restore.ts';
import { restoreProgress } from '../../../lib/node/snapshot/restore-progress.ts';
import type { RestoreTool } from '../../../lib/node/snapshot/restore-tool.ts';
import type { Variables } from '../../../lib/node/variables/variables.ts';
import { type Postgres, startPostgres } from '../../postgres.ts';

let postgres: Postgres;
let folder: string;
let good: Readonly<Record<'state' | 'prover', string>>;
const running = new Set<ChildProcess>();

/** Rows of the largest table: enough to interrupt a running restore. */
const blocks = 100_000;
const [stateDatabase, proverDatabase, proverUser] = ['state_db', 'prover_db', 'prover_user'];

beforeAll(async () => {
  postgres = await startPostgres('/var/tmp', { fsync: 'off', max_connections: '40' });
  folder = mkdtempSync('/var/tmp/pg-restore-test-');
  mkdirSync(join(folder, 'snapshot'));
  postgres.sql(
    'postgres',
    `create database made_state; create database made_prover; create role ${proverUser} login`,
  );
  postgres.sql(
    'made_state',
    `create schema state;
     create table state.l2block (block_num bigint primary key, block_hash text);
     insert into state.l2block select n, encode(sha256(n::text::bytea), 'hex') from generate_series(1, ${blocks}) n;
     create table state.receipt (tx_hash text primary key, block_num bigint references state.l2block);
     insert into state.receipt select block_hash, block_num from state.l2block;
     create index receipt_block_num_idx on state.receipt (block_num);
     create table state.log as select block_hash as topic0, block_num as n from state.l2block;
     create index log_topic0_idx on state.log (topic0);
     create table public.gorp_migrations (id text primary key);
     insert into public.gorp_migrations values ('0001');
     create function public.backup_batch() returns trigger language plpgsql as 'begin return new; end';
     create trigger backup before delete on state.l2block for each row execute function public.backup_batch();`,
  );
  postgres.sql(
    'made_prover',
    `create schema state; create table state.nodes (hash bytea primary key, data bytea not null);
     insert into state.nodes select sha256(n::text::bytea), sha256((n + 1)::text::bytea) from generate_series(1, 50000) n;
     create table state.program (hash bytea primary key, data bytea not null);`,
  );
  good = { state: archive('state', 'made_state'), prover: archive('prover', 'made_prover') };
  // The script's queries to Docker: the server counts as a container, with its own mounts.
  program(
    'docker',
    `case "$1" in
inspect) echo ${postgres.pid} ;;
exec)
  shift
  while [ "\${1#-}" != "$1" ]; do
    if [ "$1" = -e ]; then export "$2"; shift; fi
    shift
  done
  shift
  exec nsenter --target ${postgres.pid} --mount env PGHOST=${postgres.socket} PGPORT=${postgres.port} "$@" ;;
esac`,
  );
});

afterEach(async () => {
  for (const each of running) kill(each);
  await expect.poll(() => clients(), { timeout: 10_000 }).toBe('0');
  for (const name of [stateDatabase, proverDatabase])
    postgres.sql('postgres', `drop database if exists ${name}`);
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await postgres.stop();
});

function archive(name: string, database: string, format = 'custom'): string {
  const path = join(folder, `${name}.sql.tar.gz`);
  dump(path, database, format);
  return path;
}

function dump(path: string, database: string, format: string): void {
  const env = { ...process.env, ...postgres.environment };
  execFileSync('pg_dump', [`--format=${format}`, `--file=${path}`, database], { env });
}

function program(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** Two databases as the server's init script leaves them: the prover's user owns its own one. */
function freshDatabases(): void {
  postgres.sql(
    'postgres',
    `create database ${stateDatabase}; create database ${proverDatabase} owner ${proverUser}; alter user ${proverUser} set search_path to state`,
  );
}

const database = (name: 'state' | 'prover', path: string): SnapshotDatabase => ({
  archive: {
    store: name,
    url: '',
    sha256: (name === 'state' ? 'a' : 'b').repeat(64),
    path,
    table: name === 'state' ? 'state.l2block' : 'state.nodes',
  },
  target: {
    container: 'state-db',
    user: postgres.user,
    database: name === 'state' ? stateDatabase : proverDatabase,
  },
});
const databasesOf = ({ state, prover }: typeof good) => ({
  state: database('state', state),
  prover: database('prover', prover),
});

const pgRestore = (jobs: number) => ({ RESTORE_WITH: 'pg_restore', JOBS: jobs });

/** The script that the resource starts as a unit. */
async function scriptOf(archives: typeof good, settings: RestoreTool['settings']): Promise<string> {
  const vars = {
    snapshot: { date: '2024-05-01', replace_existing: false },
    credentials: { prover: { user: proverUser } },
    paths: { data: folder },
  } as Variables;
  const scripts: string[] = [];
  const host = fakeHost([[/./, '']], {
    sql: async () => ({ ok: true, rows: [[null, null, '0', '0', '0']] }),
    run: shell(async (_, { stdin }) => {
      scripts.push(String(stdin));
      return new Output(0, Buffer.from('ActiveState=inactive\n'), '');
    }),
  });
  const restored = snapshotIsRestored(databasesOf(archives), { resources: [], settings }, vars);
  await expect(applyDrift(host, restored)).rejects.toThrow('the state database is empty');
  const [script] = scripts;
  if (script === undefined) throw new Error('no script was started');
  return script;
}

interface Restored {
  readonly code: number | null;
  readonly output: string;
}

/** Starts the script as its unit would: in a group of its own, to be killed as a whole. */
async function start(
  archives = good,
  settings: RestoreTool['settings'] = pgRestore(4),
  path = `${folder}:${process.env.PATH}`,
) {
  const script = await scriptOf(archives, settings);
  // Outside of the server's container, where its socket is not to be seen but through its process.
  const outside = `mount -t tmpfs tmpfs ${postgres.socket} && exec env PATH="$1" /bin/sh -c "$2"`;
  const child = spawn('unshare', ['--mount', '/bin/sh', '-c', outside, 'sh', path, script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += String(chunk);
    });
  const ended = new Promise<Restored>((resolve) =>
    child.once('close', (code) => {
      running.delete(child);
      resolve({ code, output: output.trim() });
    }),
  );
  return { child, ended };
}

const run = async (...settings: Parameters<typeof start>) => (await start(...settings)).ended;

function kill({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, 'SIGKILL');
}

const clients = () =>
  postgres.sql(
    'postgres',
    `select count(*) from pg_stat_activity where datname in ('${stateDatabase}', '${proverDatabase}')`,
  );
const marks = () =>
  postgres.sql(
    'postgres',
    `select string_agg(substring(shobj_description(oid, 'pg_database') from '"restore": "(\\w+)"'), ' ' order by datname desc)
    from pg_database where datname in ('${stateDatabase}', '${proverDatabase}')`,
  );

/** Everything of the archives is there, with the right owner. */
function holdsEverything(): void {
  const contents = (database: string) =>
    postgres.sql(
      database,
      `select relname, relkind, pg_get_userbyid(relowner) from pg_class where relnamespace = 'state'::regnamespace order by 1;
       select conname from pg_constraint where connamespace = 'state'::regnamespace order by 1;
       select tgname from pg_trigger where not tgisinternal;
       select nspname, pg_get_userbyid(nspowner) from pg_namespace where nspname = 'state'`,
    );
  expect(contents(stateDatabase)).toBe(contents('made_state'));
  expect(contents(proverDatabase)).toBe(contents('made_prover').replaceAll(postgres.user, proverUser));
  const rows = `select count(*), md5(string_agg(block_hash, '' order by block_num)) from state.l2block;
    select count(*) from state.receipt; select count(*) from state.log; select count(*) from public.gorp_migrations`;
  expect(postgres.sql(stateDatabase, rows)).toBe(postgres.sql('made_state', rows));
  const nodes = `select count(*), md5(string_agg(data, '' order by hash)) from state.nodes`;
  expect(postgres.sql(proverDatabase, nodes)).toBe(postgres.sql('made_prover', nodes));
  expect(marks()).toBe('complete complete');
}

async function succeeds(archives = good, settings = pgRestore(4)): Promise<void> {
  const { code, output } = await run(archives, settings);
  expect(output).toBe('the snapshot is restored');
  expect(code).toBe(0);
  holdsEverything();
}

/** It failed with this message, and neither database counts as restored. */
async function fails(archives: typeof good, words: RegExp, path?: string): Promise<void> {
  const { code, output } = await run(archives, pgRestore(4), path);
  expect(output).toMatch(words);
  expect(code).toBe(1);
  expect(marks()).not.toContain('complete');
}

describe('data that we did not restore is not replaced', () => {
  const decision = async () => {
    const before = process.env.PATH;
    process.env.PATH = `${folder}:${before}`;
    const connection = await connectLocally();
    onTestFinished(async () => {
      process.env.PATH = before;
      await connection.close();
    });
    return (await assessDatabases(createReader(connection, 'here'), databasesOf(good), false)).decision;
  };

  test('data beside an empty main table counts', async () => {
    freshDatabases();
    const prover =
      'create schema state; create table state.nodes (hash bytea, data bytea); create table state.program ()';
    postgres.sql(proverDatabase, prover);
    expect(await decision()).toBe('restore');
    postgres.sql(
      stateDatabase,
      `create schema state; create table state.l2block (block_num bigint);
       create table state.virtual_batch as select n from generate_series(1, 1000) n`,
    );
    expect(await decision()).toBe('refuse');
  });

  test('a database that was restored by hand after our restore failed counts, once a node has worked on it', async () => {
    freshDatabases();
    const half = join(folder, 'half-of-ours');
    execFileSync('cp', [good.prover, half]);
    truncateSync(half, statSync(half).size / 2);
    await fails({ ...good, prover: half }, /^the prover database is not restored/);
    expect(await decision()).toBe('restore');
    const env = { ...process.env, ...postgres.environment };
    postgres.sql(proverDatabase, 'drop schema if exists state cascade');
    execFileSync('pg_restore', ['--no-owner', '--no-acl', `--dbname=${proverDatabase}`, good.prover], {
      env,
    });
    // A restore can have written all of it.
    expect(await decision()).toBe('restore');
    postgres.sql(stateDatabase, `insert into state.l2block values (${blocks + 1}, 'of the node')`);
    expect(await decision()).toBe('refuse');
  });
});

describe("a restore by the host's own pg_restore", () => {
  test.each([1, 4, 30])('%i jobs restore both archives whole, and a second time', async (jobs) => {
    freshDatabases();
    await succeeds(good, pgRestore(jobs));
    await succeeds(good, pgRestore(jobs));
  });

  test('an archive without offsets of its tables, as one that was dumped into a pipe, is restored whole', async () => {
    freshDatabases();
    const state = join(folder, 'piped.sql.tar.gz');
    const env = { ...process.env, ...postgres.environment };
    execFileSync('sh', ['-c', 'pg_dump --format=custom made_state | cat >"$1"', 'sh', state], { env });
    await succeeds({ ...good, state });
  });

  test('names may have spaces and backslashes, and a missing index with such a name is noticed', async () => {
    freshDatabases();
    postgres.sql(
      'postgres',
      'drop database if exists made_odd; create database made_odd template made_state',
    );
    postgres.sql(
      'made_odd',
      `create table state."my  table" (n int constraint "the \\key" primary key);
       create table state."a\\b c" (n int constraint "to it" references state."my  table");
       create index "by n" on state."a\\b c" (n)`,
    );
    const odd = { ...good, state: archive('odd', 'made_odd') };
    expect((await run(odd)).output).toBe('the snapshot is restored');
    const bin = join(folder, 'losing');
    mkdirSync(bin);
    const losing = `#!/bin/sh
/usr/bin/pg_restore "$@" || exit
for word; do case $word in --host=*) host=$word ;; --dbname=*) database=$word ;; esac; done
[ "\${database-}" != --dbname=${stateDatabase} ] || psql -Xq "$host" "$database" -U ${postgres.user} -c 'drop index state."by n"'
`;
    writeFileSync(join(bin, 'pg_restore'), losing, { mode: 0o755 });
    await fails(odd, /not restored: INDEX state\.by n is missing$/, `${bin}:${folder}:${process.env.PATH}`);
  });

  test('a truncated archive: reported with its reason at the first attempt; the next run with a whole one succeeds', async () => {
    freshDatabases();
    for (const name of ['state', 'prover'] as const) {
      const path = join(folder, `half-${name}`);
      execFileSync('cp', [good[name], path]);
      truncateSync(path, statSync(path).size / 2);
      const words = `^the ${name} database is not restored: could not (read from input file: end of file|find block ID \\d+ in archive.*)\\. pg_restore exited with 1, its output is in ${folder}/snapshot/restore\\.log$`;
      await fails({ ...good, [name]: path }, new RegExp(words));
    }
    expect(
      postgres.sql(
        proverDatabase,
        `select to_regclass('state.program') is null or not exists (select from state.program)`,
      ),
    ).toBe('t');
    await succeeds();
  });

  test('a file of another kind, or a dump of another format, is refused before a database is touched', async () => {
    freshDatabases();
    await succeeds();
    const [text, tar] = [join(folder, 'text'), join(folder, 'tar')];
    writeFileSync(text, 'sorry '.repeat(1000));
    dump(tar, 'made_prover', 'tar');
    const words = [
      [
        { ...good, state: text },
        /^\S+\/text cannot be restored: input file does not appear to be a valid archive$/,
      ],
      [
        { ...good, prover: tar },
        /^\S+\/tar is a dump in the format TAR; several jobs can restore the custom format only$/,
      ],
    ] as const;
    for (const [archives, expected] of words) {
      const { code, output } = await run(archives);
      expect(output).toMatch(expected);
      expect(code).toBe(1);
      holdsEverything();
    }
  });

  test('without pg_restore nothing is touched', async () => {
    freshDatabases();
    await succeeds();
    const bin = join(folder, 'bin');
    execFileSync('sh', [
      '-c',
      'mkdir "$1" && cd "$1" && ln -s /usr/bin/* . && rm pg_restore && ln -sf "$2"/docker .',
      'sh',
      bin,
      folder,
    ]);
    const { code, output } = await run(good, pgRestore(4), bin);
    expect([code, output]).toEqual([1, 'pg_restore is not installed: role client-tools installs it']);
    holdsEverything();
  });

  test("an error of the server, which the node's own tool would ignore, is reported", async () => {
    freshDatabases();
    // In public, which is not emptied.
    postgres.sql(
      stateDatabase,
      'create table public.l2block (); create type public.gorp_migrations as enum ()',
    );
    await fails(
      good,
      /^the state database is not restored: could not execute query: ERROR: .*gorp_migrations.* pg_restore exited with 1/,
    );
    postgres.sql(stateDatabase, 'drop type public.gorp_migrations');
    await succeeds();
  });

  test('more jobs than connections of the server: the error of the server is reported, not that a worker died', async () => {
    freshDatabases();
    const { code, output } = await run(good, pgRestore(64));
    expect(output).toMatch(
      /^the state database is not restored: .*too many clients already\. pg_restore exited with 1/,
    );
    expect(code).toBe(1);
    expect(marks()).not.toContain('complete');
    await succeeds();
  });

  test('killed half-way, with all its processes: not taken for restored, and the next run restores all of it', async () => {
    freshDatabases();
    for (const until of ['state.l2block', 'state.nodes']) {
      const { child, ended } = await start();
      const database = until === 'state.nodes' ? proverDatabase : stateDatabase;
      await expect
        .poll(
          () =>
            postgres.sql(
              database,
              `select to_regclass('${until}') is not null and exists (select from pg_stat_activity where application_name = 'rpc-node-restore')`,
            ),
          { timeout: 20_000, interval: 5 },
        )
        .toBe('t');
      kill(child);
      expect((await ended).code).toBe(null);
      expect(marks()).not.toContain('complete');
      await succeeds();
    }
  });

  /** Objects of a snapshot beside the schema of the node. */
  const beside = `
    create type public.kind as enum ('a', 'b');
    create table public.notes (id serial primary key, kind public.kind, "a b" text);
    create view public.kinds as select kind from public.notes;
    create function public.refuse() returns event_trigger language plpgsql as 'begin
DROP TABLE no_such_table;
end';
    create schema extra; create table extra.more (n int);
    create publication everything for all tables;
    select lo_from_bytea(4711, 'large');
    create table state.kept (kind public.kind)`;

  test('what an interrupted restore left outside of the schema is dropped before the next', async () => {
    freshDatabases();
    for (const name of ['made_state', 'made_prover']) {
      postgres.sql(
        'postgres',
        `drop database if exists ${name}_beside; create database ${name}_beside template ${name}`,
      );
      postgres.sql(`${name}_beside`, beside);
    }
    // Only a superuser may create one, and the prover's own user is not a superuser.
    postgres.sql(
      'made_state_beside',
      "create event trigger refuse on sql_drop when tag in ('DROP CAST') execute function public.refuse()",
    );
    const both = {
      state: archive('state-beside', 'made_state_beside'),
      prover: archive('prover-beside', 'made_prover_beside'),
    };
    // It belongs to another user.
    postgres.sql(stateDatabase, 'create table public.theirs as select 1 as n');
    const half = join(folder, 'half-beside');
    execFileSync('cp', [both.prover, half]);
    truncateSync(half, Math.floor(statSync(half).size / 2));
    await fails({ ...both, prover: half }, /^the prover database is not restored/);
    for (let times = 0; times < 2; times += 1) {
      expect((await run(both)).output).toBe('the snapshot is restored');
      expect(
        postgres.sql(
          stateDatabase,
          'select n from public.theirs; select lo_get(4711); select count(*) from extra.more',
        ),
      ).toBe('1\n\\x6c61726765\n0');
      expect(
        postgres.sql(
          proverDatabase,
          'select count(*) from public.kinds; select count(*) from pg_publication',
        ),
      ).toBe('0\n0');
    }
  });

  test('a table of others with a name of the archive is never dropped, however often the restore fails on it', async () => {
    freshDatabases();
    const state = archive('state-beside', 'made_state_beside');
    postgres.sql(stateDatabase, "create table public.notes as select 'precious' as n");
    for (let times = 0; times < 3; times += 1) {
      await fails(
        { ...good, state },
        /^the state database is not restored: could not execute query: ERROR: .*already exists/,
      );
      expect(postgres.sql(stateDatabase, 'select n from public.notes')).toBe('precious');
    }
  });

  test('objects of others that depend on what a restore left keep it, and are named', async () => {
    freshDatabases();
    const state = archive('state-beside', 'made_state_beside');
    expect((await run({ ...good, state })).output).toBe('the snapshot is restored');
    postgres.sql(stateDatabase, 'create view public.theirs as select * from public.notes');
    await fails(
      { ...good, state },
      /^what an interrupted restore left in state_db could not be dropped: cannot drop /,
    );
    postgres.sql(stateDatabase, 'select * from public.theirs');
  });

  test('a session that a killed restore left, with its lock, does not block the next one', async () => {
    freshDatabases();
    await succeeds();
    const env = { ...process.env, ...postgres.environment, PGAPPNAME: 'rpc-node-restore' };
    const held = spawn(
      'psql',
      ['-Xq', stateDatabase, '-c', 'begin; lock table state.l2block; select pg_sleep(600)'],
      {
        env,
      },
    );
    await expect.poll(() => clients(), { timeout: 10_000 }).toBe('1');
    await succeeds();
    expect(
      await new Promise((resolve) =>
        held.exitCode === null ? held.once('exit', resolve) : resolve(held.exitCode),
      ),
    ).not.toBe(0);
  });

  test.each([1, 4])(
    'progress of %i jobs grows to nearly all of the current archive, and never past it',
    async (jobs) => {
      freshDatabases();
      // All input is read, and an index is still being built for a while.
      postgres.sql(
        'postgres',
        'drop database if exists made_slow; create database made_slow template made_state',
      );
      postgres.sql(
        'made_slow',
        `create function state.slowly(text) returns text immutable language plpgsql as 'begin perform pg_sleep(3); return $1; end';
       create table state.slow as select 'x' as x; create index slow_idx on state.slow (state.slowly(x))`,
      );
      const slow = { ...good, state: archive('slow', 'made_slow') };
      const { state, prover } = databasesOf(slow);
      const sizes = [slow.state, slow.prover].map((path) => statSync(path).size);
      const host = createReader(await connectLocally(), 'here');
      const seen: Progress[] = [];
      let over = false;
      const { ended } = await start(slow, pgRestore(jobs));
      void ended.then(() => {
        over = true;
      });
      while (!over) {
        seen.push(await restoreProgress(host, [state, prover]));
        await sleep(5);
      }
      expect((await ended).output).toBe('the snapshot is restored');
      const total = sizes.reduce((sum, size) => sum + size, 0);
      const done = seen.flatMap((each) => (each.done === undefined ? [] : [each.done]));
      expect(done.length).toBeGreaterThan(3);
      expect(done).toEqual([...done].sort((a, b) => a - b));
      expect(Math.max(...done)).toBeGreaterThan(0.9 * (sizes[0] ?? 0));
      expect(Math.max(...done)).toBeLessThanOrEqual(total);
      for (const each of seen)
        if (each.done !== undefined) expect([each.total, each.unit]).toEqual([total, 'bytes']);
    },
  );
});

describe("a restore by the node's own tool, here a stand-in that does it by pg_restore", () => {
  /**
   * @param faults shell that comes before the restore of the hash database
   */
  function nodeTool(faults: string, successes = 2) {
    const restore = `nsenter --target ${postgres.pid} --mount env PGHOST=${postgres.socket} pg_restore --no-owner --no-acl -U ${postgres.user}`;
    program(
      'node',
      `[ "$1 $2 $3 $4 $6" = "restore --cfg /etc/restore.toml -is -ih" ] || exit 9
      ${restore} --dbname=${stateDatabase} "$5"
      ${faults}
      ${restore} --dbname=${proverDatabase} --role=${proverUser} "$7"
      for each in $(seq ${successes}); do echo 'Snapshot success'; done`,
    );
    rmSync(join(folder, 'runs'), { force: true });
    return { RESTORE_WITH: 'source', NODE_BINARY: join(folder, 'node'), CONFIGURATION: '/etc/restore.toml' };
  }
  const line = (level: string, msg: string) =>
    `printf '%s\\n' '${JSON.stringify({ level, ts: 1.5, msg, pid: 1 })}'`;
  /**
   * What the real tool logs where it lost the output of pg_restore, and where pg_restore failed.
   */
  const lost = line(
    'error',
    'error restoring snapshot. Error: error reading output: read |0: file already closed\n/src/a.go:1',
  );
  const failed = line(
    'error',
    'error restoring snapshot. Error: exit status 1\n/src/cmd/restore.go:84 main.restore()\n',
  );
  const output = line(
    'debug',
    'restoreExec.Output: pg_restore: error: could not execute query: ERROR:  relation "state.nodes" already exists\nCommand was: CREATE TABLE state.nodes (\n',
  );
  const skip = `echo >>"\${0%/*}/runs"; [ "$(wc -l <"\${0%/*}/runs")" -gt`;

  test('it is run again when it skips the hash database and exits with 0', async () => {
    freshDatabases();
    const tool = nodeTool(`${skip} 2 ] || { ${lost}; exit 0; }`);
    const { code, output } = await run(good, tool);
    const again =
      /^the restore tool failed: it skipped the hash database, or stopped in it: .*state\.nodes is missing.*\. Trying again$/;
    const lines = output.split('\n');
    expect(lines).toEqual([
      expect.stringMatching(again),
      expect.stringMatching(again),
      'the snapshot is restored',
    ]);
    expect(code).toBe(0);
    holdsEverything();
  });

  test.each([
    [
      'it always skips the hash database',
      'exit 0',
      2,
      /failed 6 times: it skipped the hash database, or stopped in it: /,
    ],
    [
      'it reports less than two successes',
      '',
      1,
      /failed 6 times: it reported 1 of 2 successes\. It exited with 0, its output is in /,
    ],
    [
      'it leaves a table empty',
      `psql -Xq -d ${stateDatabase} -c 'truncate public.gorp_migrations'`,
      2,
      /^the state database is not restored: public\.gorp_migrations is empty\. The tool exited with 0, its output is in /,
    ],
    [
      'pg_restore fails, which every attempt would repeat',
      `${failed}; ${output}; exit 0`,
      2,
      /^the restore tool failed: could not execute query: ERROR: {2}relation "state\.nodes" already exists; it skipped the hash database, .*It exited with 0, its output is in /,
    ],
    [
      'pg_restore fails on the state database, with a tool that logs no words of it',
      `psql -Xq -d ${stateDatabase} -c 'truncate public.gorp_migrations'; ${failed}; exit 0`,
      2,
      /^the state database is not restored: pg_restore failed, and the tool lost the reason \(pg_restore --file=\/dev\/null \S+ shows whether the archive is damaged\); public\.gorp_migrations is empty\. The tool exited with 0/,
    ],
    [
      'it gives the hash database to another user',
      '',
      2,
      /state\.nodes belongs to state_user and not to prover_user/,
    ],
  ])('it fails where %s', async (what, faults, successes, words) => {
    freshDatabases();
    const inside = `nsenter --target ${postgres.pid} --mount env PGHOST=${postgres.socket} PGUSER=${postgres.user}`;
    const tool = nodeTool(faults.replace('psql', `${inside} psql`), successes);
    if (what.includes('another user')) {
      const path = join(folder, 'node');
      writeFileSync(path, readFileSync(path, 'utf8').replace(`--role=${proverUser}`, ''));
    }
    const { code, output } = await run(good, tool);
    expect(output).toMatch(words);
    expect(code).toBe(1);
    expect(marks()).toBe('started started');
  });
});
