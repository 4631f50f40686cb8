import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import toml from '@iarna/toml';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Connection } from '../../lib/engine/host/connection.ts';
import { sessionOver } from '../../lib/engine/host/session.ts';
import { connectLocally } from '../../lib/engine/host/testing/local-connection.ts';
import { describeVerdict, type Resource } from '../../lib/engine/resource/resource.ts';
import type { Context } from '../../lib/engine/resource/role.ts';
import { applyDrift, hostOver, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { play, playbook } from '../../lib/engine/run/playbook.ts';
import { run } from '../../lib/engine/run/run.ts';
import { encrypt } from '../../lib/engine/secret/age/age-file.ts';
import { changeSecretValues } from '../../lib/engine/secret/secret-values.ts';
import { acceptsLogins, databasesAcceptLogins } from '../../lib/node/databases/log-in.ts';
import { rolling } from '../../lib/node/gateway/drain.ts';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { renderHost } from '../../lib/node/render/render.ts';
import { sound } from '../../lib/node/testing/role-context.ts';
import { writeLabDeployment } from '../../lib/node/testing/written-lab-deployment.ts';
import type { Variables } from '../../lib/node/variables/variables.ts';
import configuration from '../../roles/configuration.ts';
import newPasswords from '../../roles/new-passwords.ts';
import noSecondLogins from '../../roles/no-second-logins.ts';
import secondLogins from '../../roles/second-logins.ts';
import temporaryLogins from '../../roles/temporary-logins.ts';
import { inAllForms, inEveryForm } from '../faults/seed.ts';
import { type Postgres, startPostgres } from '../postgres.ts';

/** Ports of state-db, and of the pool-db of each server. */
const ports = { state: 25432, 'db-1': 25433, 'rpc-1': 25434, 'rpc-2': 25435 } as const;
const former = { state: 'former.State~1', pool: 'former.Pool~1', prover: 'former.Prover~1' } as const;
const wanted = { state: 'new.State~1', pool: 'new.Pool~1', prover: 'new.Prover~1' } as const;
const stores = ['state', 'pool', 'prover'] as const;
const servers = ['db-1', 'rpc-1', 'rpc-2'] as const;
type Server = (typeof servers)[number];
type Passwords = Readonly<Record<(typeof stores)[number], string>>;

let folder: string;
let databases: Record<'state' | Server, Postgres>;

beforeAll(async () => {
  folder = mkdtempSync('/var/tmp/rotation-');
  const start = (port: number) =>
    startPostgres(
      '/var/tmp',
      { fsync: 'off', listen_addresses: '127.0.0.1', port: String(port), max_connections: '50' },
      (data) => {
        const words = [
          '--auth-local=trust',
          '--auth-host=scram-sha-256',
          '--no-sync',
          '--username=state_user',
          data,
        ];
        const as = [
          '--reuid=postgres',
          '--regid=postgres',
          '--init-groups',
          '/usr/lib/postgresql/15/bin/initdb',
        ];
        execFileSync('setpriv', [...as, ...words], { cwd: data, stdio: 'ignore' });
      },
    );
  databases = {
    state: await start(ports.state),
    'db-1': await start(ports['db-1']),
    'rpc-1': await start(ports['rpc-1']),
    'rpc-2': await start(ports['rpc-2']),
  };
  databases.state.sql(
    'postgres',
    `create database state_db; create user prover_user; create database prover_db owner prover_user;
     alter user prover_user set search_path to state;`,
  );
  databases.state.sql('prover_db', 'create schema state authorization prover_user;');
  for (const name of servers)
    databases[name].sql(
      'postgres',
      'create role pool_user superuser login; create database pool_db owner pool_user;',
    );
});

afterAll(async () => {
  for (const each of Object.values(databases ?? {})) await each.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Debian's own psql looks for a cluster first. */
const psql = '/usr/lib/postgresql/15/bin/psql';

const containersOf = (name: Server) => (name === 'db-1' ? ['prover', 'sync'] : ['prover', 'json-rpc']);
const fileOf = (container: string) => (container === 'prover' ? 'prover.config.json' : 'node.config.toml');

/** A server: its files, and containers that keep in memory what they read at their start. */
class Machine {
  readonly name: Server;
  connection!: Connection;
  host!: TestHost;

  constructor(name: Server) {
    this.name = name;
  }

  get home(): string {
    return join(folder, this.name);
  }

  async boot(): Promise<void> {
    rmSync(this.home, { recursive: true, force: true });
    for (const part of ['bin', 'memory', 'node']) mkdirSync(join(this.home, part), { recursive: true });
    const socket = (of: 'state' | Server) => `PGHOST=${databases[of].socket} PGPORT=${ports[of]}`;
    const script = `#!/bin/sh
if [ "$1" = exec ]; then
  shift
  while :; do
    case $1 in -i) shift ;; -e) export "$2"; shift 2 ;; *) break ;; esac
  done
  case $1 in state-db) export ${socket('state')} ;; *) export ${socket(this.name)} ;; esac
  shift
  exec "$@"
fi
if [ "$1" = container ]; then
  shift 4
  for name; do
    case $name in
      *-db) at=2024-01-01T00:00:00Z ;;
      *) at=$(date -u -r "${this.home}/memory/$name" +%Y-%m-%dT%H:%M:%S.%NZ 2>/dev/null) || continue ;;
    esac
    printf '{"Id":"%s","Name":"/%s","State":{"Running":true,"Status":"running","StartedAt":"%s"}}\\n' "$name" "$name" "$at"
  done
  exit
fi
[ "$1" = restart ] || exit 9
case $4 in prover) file=prover.config.json ;; *) file=node.config.toml ;; esac
cp "${this.home}/node/$file" "${this.home}/memory/$4"
`;
    writeFileSync(join(this.home, 'bin/docker'), script, { mode: 0o755 });
    symlinkSync(psql, join(this.home, 'bin/psql'));
    const connection = await connectLocally();
    const path = `PATH=${this.home}/bin:$PATH; export PATH\n`;
    this.connection = {
      name: this.name,
      close: () => connection.close(),
      execs: 0,
      exec: ((text, options) => connection.exec(path + text, options)) as typeof connection.exec,
    };
    this.host = hostOver(this.connection);
  }

  start(container: string): void {
    copyFileSync(join(this.home, 'node', fileOf(container)), join(this.home, 'memory', container));
  }

  /** The logins in a file, or in the memory of a program: addresses as libpq takes them. */
  logins(path: string, container: string): string[] {
    const text = readFileSync(path, 'utf8');
    if (container === 'prover') return [String(JSON.parse(text).databaseURL)];
    const { State, Pool } = toml.parse(text) as Record<string, { DB: Record<string, string> }>;
    const address = ({ User, Password, Name }: Record<string, string>, port: number) =>
      `postgresql://${User}:${Password}@127.0.0.1:${port}/${Name}`;
    return [address(State?.DB ?? {}, ports.state), address(Pool?.DB ?? {}, ports[this.name])];
  }

  /** What a program that runs has, and one that restarts by itself now. */
  held(): { words: string; login: string }[] {
    return containersOf(this.name).flatMap((container) =>
      [join(this.home, 'memory', container), join(this.home, 'node', fileOf(container))].flatMap((path) =>
        (existsSync(path) ? this.logins(path, container) : []).map((login) => ({
          words: `${this.name} ${path.slice(this.home.length + 1)}: ${login}`,
          login: login.replace('@state-db:5432', `@127.0.0.1:${ports.state}`),
        })),
      ),
    );
  }
}

/** Whether the databases take all of these logins, one after another: a psql for each would take longer. */
async function areAccepted([first, ...others]: readonly string[]): Promise<boolean> {
  if (first === undefined) return true;
  const next = others.flatMap((login) => ['-c', `\\connect '${login}'`]);
  const words = ['-XAtqw', '--set=ON_ERROR_STOP=1', first, ...next, '-c', 'select 1'];
  return new Promise((resolve) => execFile(psql, words, (error) => resolve(!error)));
}

class Killed extends Error {}

const machines = servers.map((name) => new Machine(name));

/** The inventory with the real encrypted file of secrets. */
async function contexts(
  values: Passwords,
  previous?: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<Server, Context<Variables>>> {
  const written = mkdtempSync(join(folder, 'inventory-'));
  const file = writeLabDeployment(written, [
    ...stores.map((store) => [['vars', 'credentials', store, 'password'], `secret:${store}_pw`] as const),
    [['groups', 'database', 'db-1', 'address'], '127.0.0.1'],
    [['groups', 'rpc', 'rpc-1', 'address'], '127.0.0.2'],
    [['groups', 'rpc', 'rpc-2'], { address: '127.0.0.3' }],
    [['vars', 'ports'], { state_db: ports.state }],
  ]);
  const named = (of: Readonly<Record<string, string>>) =>
    new Map(Object.entries(of).map(([store, value]) => [`${store}_pw`, value]));
  const text = changeSecretValues('', {
    current: named(values),
    ...(previous && { previous: named(previous) }),
  });
  const passphrase = 'correct horse battery';
  writeFileSync(file.replace('.yaml', '.secrets.age'), await encrypt(text, { passphrase }, 4), {
    mode: 0o600,
  });
  const { hosts } = await loadDeployment(file, { environment: { RPC_PLAYBOOKS_PASSPHRASE: passphrase } });
  const own = hosts.map((host) => {
    const name = host.name as Server;
    const { vars } = host;
    const paths = { ...vars.paths, deployment: join(folder, name, 'node') };
    return { ...host, vars: { ...vars, paths, ports: { ...vars.ports, pool_db: ports[name] } } };
  });
  return new Map(
    own.map((host) => [
      host.name as Server,
      { host, vars: host.vars, facts: sound, hosts: own, includes: () => true, given: {} },
    ]),
  );
}

/** The parts of a deploy that a rotation concerns, in the order of playbooks/deploy.mjs. */
async function deploy(of: ReadonlyMap<Server, Context<Variables>>): Promise<void> {
  const at = async (machine: Machine, resources: readonly Resource[]) => {
    for (const resource of resources) await make(machine, resource);
  };
  const context = (machine: Machine) => of.get(machine.name) as Context<Variables>;
  const [db] = machines as [Machine];
  for (const machine of machines) {
    const { services } = await renderHost(context(machine));
    await make(machine, databasesAcceptLogins(context(machine), services));
  }
  await at(db, await secondLogins.resources(context(db)));
  for (const machine of machines) await at(machine, await temporaryLogins.resources(context(machine)));
  for (const machine of machines) await at(machine, await newPasswords.resources(context(machine)));
  for (const machine of machines) {
    const files = (await configuration.resources(context(machine))).filter(({ name }) =>
      /^file .*(node\.config\.toml|prover\.config\.json)$/.test(name),
    );
    await at(machine, files);
    await at(
      machine,
      containersOf(machine.name).map((name) => hasReadItsFile(machine, name)),
    );
  }
  for (const machine of machines) await at(machine, await noSecondLogins.resources(context(machine)));
}

/** In place of a service of Compose, whose label changes with its file. */
function hasReadItsFile(machine: Machine, container: string): Resource {
  const [memory, file] = [
    join(machine.home, 'memory', container),
    join(machine.home, 'node', fileOf(container)),
  ];
  return {
    name: `${container} is running with its configuration`,
    check: async () =>
      existsSync(memory) && readFileSync(memory).equals(readFileSync(file))
        ? { is: 'ok' }
        : { is: 'drift', differences: [], note: 'another configuration' },
    work: async () => machine.start(container),
  };
}

const seen: string[] = [];
/** The number of changes of all servers. */
let made = 0;
let killedAt = Number.POSITIVE_INFINITY;
/** Not while all is prepared. */
let isWatching = false;

async function make(machine: Machine, resource: Resource): Promise<void> {
  const verdict = await resource.check(machine.host);
  if (verdict.is === 'ok') return;
  if (resource.expects === 'should') {
    seen.push(`${machine.name} warning: ${describeVerdict(verdict)}`);
    return;
  }
  if (made === killedAt) throw new Killed();
  made += 1;
  seen.push(`${machine.name} ${resource.name}`);
  await applyDrift(machine.host, resource);
  expect(describeVerdict(await resource.check(machine.host))).toBe('ok');
  // Whatever is changed: each program has valid logins, also if it restarts by itself now.
  if (isWatching) expect(await refused()).toEqual([]);
}

/** The logins of all servers that a database refuses. */
async function refused(): Promise<string[]> {
  const all = machines.flatMap((machine) => machine.held());
  const logins = [...new Set(all.map(({ login }) => login))];
  if (await areAccepted(logins)) return [];
  const accepted = await Promise.all(logins.map((login) => areAccepted([login])));
  return all.flatMap(({ words, login }) => (accepted[logins.indexOf(login)] ? [] : [words]));
}

/** All as before a rotation: the former passwords, and programs that use them. */
beforeEach(async () => {
  databases.state.sql(
    'postgres',
    'drop role if exists rpc_node_state_next; drop role if exists rpc_node_prover_next;',
  );
  for (const name of servers) databases[name].sql('postgres', 'drop role if exists rpc_node_pool_next;');
  databases.state.sql(
    'postgres',
    `alter role state_user password '${former.state}'; alter role prover_user password '${former.prover}';`,
  );
  for (const name of servers)
    databases[name].sql('postgres', `alter role pool_user password '${former.pool}';`);
  for (const machine of machines) await machine.boot();
  [killedAt, isWatching] = [Number.POSITIVE_INFINITY, false];
  await deploy(await contexts(former));
  [made, seen.length, isWatching] = [0, 0, true];
});

const whole = [
  'db-1 state and prover database have a second login with the new password',
  ...servers.flatMap((name) => [
    `${name} pool database have a second login with the new password`,
    `${name} prover.config.json has the second logins`,
    `${name} node.config.toml has the second logins`,
    ...containersOf(name).map((container) => `${name} ${container} uses the second logins`),
    `${name} pool database have the new passwords`,
  ]),
  'db-1 state and prover database have the new passwords',
];

test('a deploy changes the passwords, and at no time has a program a login that is refused', async () => {
  await deploy(await contexts(wanted, former));
  expect(seen.slice(0, whole.length)).toEqual(whole);
  expect(seen.slice(whole.length)).toEqual([
    ...servers.flatMap((name) => [
      expect.stringMatching(`^${name} file .*node.config.toml$`),
      expect.stringMatching(`^${name} file .*prover.config.json$`),
      ...containersOf(name).map((container) => `${name} ${container} is running with its configuration`),
    ]),
    'db-1 state and prover database have no second login',
    'db-1 pool database have no second login',
    'db-1 warning: every server uses the new passwords, and the former ones are kept',
    'rpc-1 pool database have no second login',
    'rpc-2 pool database have no second login',
  ]);
  await expectPasswordsAlone(wanted, former);
  seen.length = 0;
  await deploy(await contexts(wanted));
  expect(seen).toEqual([]);
});

/** The plays of playbooks/deploy.mjs up to the new passwords, in an inventory without a gateway. */
async function runPlays(of: ReadonlyMap<Server, Context<Variables>>) {
  const both = { hosts: 'database,rpc' };
  const plays = [
    play<Variables>('second logins', { hosts: 'database', roles: [secondLogins] }),
    play<Variables>('servers use second logins', {
      ...both,
      roles: [temporaryLogins],
      needs: ['second logins'],
      ...rolling,
    }),
    play<Variables>('new passwords', {
      ...both,
      roles: [newPasswords],
      needs: ['servers use second logins'],
    }),
  ];
  const hosts = [...of.values()].map(({ host }) => host);
  /** The hosts at each start and each end of a restart. */
  const restarted: string[] = [];
  const interrupt = new AbortController().signal;
  const result = await run(
    playbook('deploy', 'rotates.', plays),
    { name: 'test', file: 'test.yaml', hosts },
    async ({ name }) => {
      const { connection } = machines.find((each) => each.name === name) as Machine;
      return sessionOver({ ...connection, close: async () => {} }, sound, interrupt);
    },
    {
      check: false,
      forks: 25,
      hosts: new Set(servers),
      selects: () => true,
      interrupt,
    },
    (event) => {
      if (event.type !== 'resource-started' && event.type !== 'resource-done') return;
      const { host, resource } = event.task;
      if (resource.endsWith('uses the second logins')) restarted.push(host);
    },
  );
  return { result, restarted };
}

test('without gateways a deploy restarts one RPC server after the other, and the first failure ends it', async () => {
  const [, first, second] = machines as [Machine, Machine, Machine];
  const docker = join(first.home, 'bin/docker');
  const works = readFileSync(docker, 'utf8');
  writeFileSync(docker, works.replace('\n', '\n[ "$1" != restart ] || exit 7\n'));
  const all = await contexts(wanted, former);
  const failed = await runPlays(all);
  expect(failed.result.hosts.map(({ stopped }) => stopped)).toEqual([
    expect.stringMatching(/^stopped on all hosts: rpc-1 failed or cannot be reached /),
    'prover uses the second logins failed',
    expect.stringMatching(/^stopped on all hosts: rpc-1 failed or cannot be reached /),
  ]);
  expect(readFileSync(join(second.home, 'memory/prover'), 'utf8')).not.toContain('rpc_node_prover_next');
  expect(await refused()).toEqual([]);

  writeFileSync(docker, works);
  const { result, restarted } = await runPlays(all);
  expect(result.hosts.map(({ stopped }) => stopped)).toEqual([undefined, undefined, undefined]);
  expect(restarted.filter((name) => name !== 'db-1')).toEqual([
    ...Array(4).fill('rpc-1'),
    ...Array(4).fill('rpc-2'),
  ]);
  expect(await refused()).toEqual([]);
});

test('a run that is killed after each of its changes is ended by the next ones', async () => {
  const all = await contexts(wanted, former);
  const eachTime = inEveryForm ? 1 : 15;
  let runs = 0;
  for (let isOver = false; !isOver; runs += 1) {
    [made, killedAt] = [0, eachTime];
    // The first test looks after each change of such a run.
    isWatching = inEveryForm;
    await deploy(all).then(
      () => {
        isOver = made === 0;
      },
      (error) => {
        if (!(error instanceof Killed)) throw error;
      },
    );
    expect(await refused()).toEqual([]);
    expect(runs).toBeLessThan(60);
  }
  expect(runs).toBeGreaterThan(whole.length / eachTime);
  await expectPasswordsAlone(wanted, former);
});

test('before anything is changed: a run that leaves a server out, and passwords that nobody knows, are refused', async () => {
  const all = await contexts(wanted, former);
  const limited = new Map(
    [...all].map(([name, each]) => [name, { ...each, includes: (host: string) => host !== 'rpc-1' }]),
  );
  await expect(deploy(limited)).rejects.toMatchObject({
    message:
      'the password of the state and prover and pool database is being changed, and rpc-1 is not part of this run',
    hint: expect.stringMatching(/^deploy all servers and roles: without --limit, --role and --skip-role\. /),
  });
  const wrong = { ...former, state: 'neither.This~1' };
  await expect(deploy(await contexts(wanted, wrong))).rejects.toThrow(
    /^databases accept .*: state database at 127\.0\.0\.1:25432 refuses state_user: password authentication failed/,
  );
  await expect(deploy(await contexts(wanted))).rejects.toThrow(
    /refuses prover_user: password authentication failed/,
  );
  expect(databases.state.sql('postgres', "select count(*) from pg_roles where rolname ~ '_next$'")).toBe('0');
  if (isWatching) expect(await refused()).toEqual([]);
});

inAllForms(
  'second logins that rotate --done left over are dropped by a later deploy, once nobody uses them',
  async () => {
    const all = await contexts(wanted, former);
    const [db] = machines as [Machine, Machine];
    await deploy(all);
    databases.state.sql(
      'postgres',
      `create role rpc_node_state_next login password '${wanted.state}'; create role rpc_node_prover_next login;`,
    );
    databases['rpc-1'].sql('postgres', 'create role rpc_node_pool_next login;');
    const left = (of: 'state' | Server) =>
      databases[of].sql('postgres', "select rolname from pg_roles where rolname ~ '_next$' order by 1");
    const done = await contexts(wanted);
    seen.length = 0;
    // A run that leaves a server out knows nothing of its programs.
    const limited = {
      ...(done.get('db-1') as Context<Variables>),
      includes: (host: string) => host !== 'rpc-1',
    };
    for (const resource of await noSecondLogins.resources(limited)) await make(db, resource);
    expect(seen).toEqual([]);
    // An operator's session.
    const address = `postgresql://rpc_node_state_next:${wanted.state}@127.0.0.1:${ports.state}/state_db`;
    const session = execFile(psql, ['-XAtqw', address, '-c', 'select pg_sleep(300)']);
    const isUsed = () =>
      databases.state.sql('postgres', "select count(*) from pg_stat_activity where usename ~ '_next$'");
    while (isUsed() === '0') await delay(50);
    await deploy(done);
    expect([left('state'), left('rpc-1')]).toEqual(['rpc_node_state_next', '']);
    expect(seen).toEqual([
      'db-1 state and prover database have no second login',
      'rpc-1 pool database have no second login',
    ]);
    session.kill();
    databases.state.sql(
      'postgres',
      "select pg_terminate_backend(pid) from pg_stat_activity where usename ~ '_next$'",
    );
    while (isUsed() !== '0') await delay(50);
    await deploy(done);
    expect(left('state')).toBe('');
  },
);

inAllForms.each([12, 4])(
  'after %i changes of a rotation, exchanged passwords of state-db are accepted, and a deploy ends it',
  async (at) => {
    killedAt = at;
    await expect(deploy(await contexts(wanted, former))).rejects.toThrow(Killed);
    killedAt = Number.POSITIVE_INFINITY;
    const exchanged = { ...former, pool: wanted.pool };
    const all = await contexts(exchanged, { ...wanted, pool: former.pool });
    const [db] = machines as [Machine, Machine];
    // Of a switch: no playbook but deploy has the roles of a rotation.
    const onSwitch = acceptsLogins(all.get('db-1') as Context<Variables>, ['state', 'prover'], {
      'state-db': undefined,
      'pool-db': undefined,
      prover: undefined,
      sync: { configHash: 'another' },
      'json-rpc': undefined,
    });
    expect(describeVerdict(await onSwitch.check(db.host))).toBe('ok');
    await deploy(all);
    await expectPasswordsAlone(exchanged, { ...wanted, pool: former.pool });
  },
);

test('what a second login makes belongs to the usual role, which has the settings of it', async () => {
  const [db] = machines as [Machine, Machine];
  const context = (await contexts(wanted, former)).get('db-1') as Context<Variables>;
  for (const resource of await secondLogins.resources(context)) await make(db, resource);
  const as = (of: 'state' | 'prover', sql: string) =>
    execFileSync(
      psql,
      [
        '-XAtqw',
        `postgresql://rpc_node_${of}_next:${wanted[of]}@127.0.0.1:${ports.state}/${of}_db`,
        '-c',
        sql,
      ],
      { encoding: 'utf8' },
    ).trim();
  expect(as('state', 'select current_user, usesuper from pg_user where usename = current_user')).toBe(
    'state_user|t',
  );
  expect(
    as(
      'prover',
      "create table if not exists made (a int); select tableowner, schemaname from pg_tables where tablename = 'made'",
    ),
  ).toBe('prover_user|state');
});

/** The usual roles take these passwords and no others, and there are no other roles. */
async function expectPasswordsAlone(taken: Passwords, refused: Passwords): Promise<void> {
  const address = (store: (typeof stores)[number], password: string, port: number) =>
    `postgresql://${store}_user:${password}@127.0.0.1:${port}/${store}_db`;
  const places = [
    ['state', ports.state],
    ['prover', ports.state],
    ['pool', ports['db-1']],
    ['pool', ports['rpc-1']],
    ['pool', ports['rpc-2']],
  ] as const;
  for (const [store, port] of places) {
    expect(await areAccepted([address(store, taken[store], port)])).toBe(true);
    expect(await areAccepted([address(store, refused[store], port)])).toBe(false);
  }
  for (const each of Object.values(databases))
    expect(each.sql('postgres', "select count(*) from pg_roles where rolname ~ '_next$'")).toBe('0');
}
