import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { $ } from 'zx';
import { imageOf } from '../../../lab/images.mjs';
import { network, stateDirectory } from '../../../lab/layout.mjs';
import { labUp } from '../../../lab/up.mjs';
import { onHost } from '../../deploy/lab-host.ts';
import { labInventoryWith } from '../../deploy/lab-inventory.ts';
import { named, runPlaybook } from '../../deploy/playbook.ts';

const run = $({ quiet: true });
const deploy = (...args: readonly string[]) => runPlaybook('deploy', '-i', 'lab', ...args);
const withoutSync = () => onHost('db-1', 'docker rm -f sync 2>/dev/null');
const containers = () => onHost('db-1', `docker ps --format '{{.Names}}'`);

beforeAll(async () => {
  await labUp({ log: console.error });
  const first = await deploy();
  expect(first.exitCode, first.output).toBe(0);
});

/** The node's command line with its synchronizer, for a program that does nothing. */
const twin = `-c 'trap "kill \\$!" TERM; sleep 600 & wait' /app/zkevm-node run --components synchronizer`;
const twinContainer = (name: string) =>
  `docker run --detach --name ${name} --entrypoint sh $(docker inspect --format {{.Image}} pool-db) ${twin}`;
const onRpc1 = (script: string) => onHost('rpc-1', script);
/** For a server that does not answer: under the lab's own name, the lab would be started first. */
const lab = () => labInventoryWith({});
/** An inventory in which rpc-1 is the Database+Sync server. */
const swapped = () =>
  labInventoryWith({
    'groups.database': { 'rpc-1': { address: '172.30.77.12', region: 'lab-1' } },
    'groups.rpc': {
      'db-1': { address: '172.30.77.11' },
      'rpc-2': { address: '172.30.77.13', user: 'operator' },
    },
  });

async function refusedBy(why: RegExp, ...args: readonly string[]): Promise<void> {
  const refused = await runPlaybook('deploy', '--timeout', '2', ...args);
  expect(refused.exitCode, refused.output).toBe(1);
  expect(refused.output).toMatch(why);
  expect(named(refused.output, 'changed')).toEqual([]);
  expect(await containers()).not.toMatch(/^sync$/m);
}

afterEach(async () => {
  await onRpc1(
    'systemctl start ssh; docker rm -f sync twin 2>/dev/null; [ ! -f /run/twin ] || { kill $(cat /run/twin); rm /run/twin; }',
  );
});

/** Options that skip the other servers, or their check. */
const narrow = [
  ['--limit', 'db-1'],
  ['--role', 'sync'],
  ['--limit', 'database', '--role', 'sync'],
  ['--skip-role', 'one-synchronizer'],
  ['--start-at', 'sync is running with its configuration'],
];

describe('there is one synchronizer', () => {
  test.each(narrow.map((options) => [options.join(' '), options] as const))(
    'one runs on an RPC server, and the run is narrowed by %s: refused',
    async (_, options) => {
      await withoutSync();
      await onRpc1(twinContainer('sync'));
      await refusedBy(
        /no other synchronizer runs, and no json-rpc of another version: rpc-1: the container sync is running/,
        '-i',
        'lab',
        ...options,
      );
    },
  );

  test('one in a container of another name, and one outside of containers: refused', async () => {
    await withoutSync();
    await onRpc1(twinContainer('twin'));
    await refusedBy(/rpc-1: the container twin is running/, '-i', 'lab', '--limit', 'db-1');
    await refusedBy(/no synchronizer runs on an RPC server/, '-i', 'lab');
    await onRpc1('docker pause twin');
    await refusedBy(/rpc-1: the container twin is paused/, '-i', 'lab', '--role', 'sync');
    await onRpc1('docker rm -f twin');
    await onRpc1(`sh ${twin} >/dev/null 2>&1 </dev/null & echo $! >/run/twin`);
    await refusedBy(/rpc-1: the process \d+ \(sh\) is a synchronizer/, '-i', 'lab', '--role', 'sync');
  });

  test('a server that does not answer: refused, and started only where the operator names it', async () => {
    await withoutSync();
    const inventory = await lab();
    await onRpc1('systemctl stop ssh');
    await refusedBy(
      /rpc-1 could not be checked: .*\n.*--assume-stopped rpc-1/,
      '-i',
      inventory,
      '--limit',
      'db-1',
    );
    await refusedBy(
      /rpc-1 could not be checked/,
      '-i',
      inventory,
      '--role',
      'sync',
      '--assume-stopped',
      'rpc-2',
    );
    const started = await runPlaybook(
      ...([
        'deploy',
        '--timeout',
        '2',
        '-i',
        inventory,
        '--limit',
        'db-1',
        '--assume-stopped',
        'rpc-1',
      ] as const),
    );
    expect(started.exitCode, started.output).toBe(0);
    expect(started.output).toContain('rpc-1 not checked: assumed to be stopped');
    expect(await containers()).toMatch(/^sync$/m);
  });

  test('a server that answers again and has one is not started beside, whatever is assumed', async () => {
    await withoutSync();
    await onRpc1(twinContainer('twin'));
    await refusedBy(/rpc-1: the container twin/, '-i', 'lab', '--limit', 'db-1', '--assume-stopped', 'rpc-1');
  });

  test('a new Database+Sync server, with --limit database, while the old one synchronizes: refused', async () => {
    const back = await deploy();
    expect(back.exitCode, back.output).toBe(0);
    const refused = await runPlaybook('deploy', '-i', await swapped(), '--limit', 'database', '--check');
    expect(refused.exitCode, refused.output).toBe(1);
    expect(refused.output).toMatch(
      /no other synchronizer runs, and no json-rpc of another version: db-1: the container sync is running/,
    );
  });

  test('a synchronizer on an RPC server that is seen in the database alone: refused', async () => {
    await withoutSync();
    const password = readFileSync(join(stateDirectory, 'secrets/state_db_password'), 'utf8').trim();
    // Writes now and then, in a session that shows its newest query.
    const writer = run({
      input: `docker run --rm --interactive --name writer --env PGPASSWORD='${password}' --entrypoint psql $(docker inspect --format {{.Image}} pool-db) \\
        --host 172.30.77.11 --username state_user state_db <<'SQL'
set application_name = '';
update state.batch set state_root = state_root where false \\watch 1
SQL`,
    })`docker exec -i rpc-lab-rpc-1 sh`.nothrow();
    onTestFinished(async () => {
      await onRpc1('docker rm -f writer 2>/dev/null || :');
      await writer;
    });
    await expect.poll(() => onRpc1('docker ps'), { timeout: 30_000 }).toContain('writer');
    await refusedBy(
      /a node on 172\.30\.77\.12 writes to the state database, which only a synchronizer does/,
      '-i',
      'lab',
      '--role',
      'sync',
    );
  });

  test('two controllers with different inventories: at most one starts what it has', async () => {
    await withoutSync();
    const [one, other] = await Promise.all([
      deploy('--limit', 'db-1', '--role', 'sync'),
      runPlaybook('deploy', '-i', await swapped(), '--limit', 'database', '--role', 'sync'),
    ]);
    expect([0, 5], one.output).toContain(one.exitCode);
    expect([1, 5], other.output).toContain(other.exitCode);
    expect(/^sync$/m.test(await containers())).toBe(one.exitCode === 0);
  });

  test('three runs that begin in the same moment: one deploys, the others say who is at work', async () => {
    for (let round = 0; round < 3; round += 1) {
      await withoutSync();
      const runs = await Promise.all([deploy(), deploy(), deploy()]);
      const output = runs.map((each) => each.output).join('\n');
      expect(runs.map(({ exitCode }) => exitCode).toSorted(), output).toEqual([0, 5, 5]);
      for (const locked of runs.filter(({ exitCode }) => exitCode === 5)) {
        expect(locked.output).toMatch(
          /is locked by \S+@\S+ \(process \d+\), which runs deploy on lab since 20/,
        );
        expect(named(locked.output, 'changed')).toEqual([]);
      }
      expect((await containers()).match(/^sync$/gm)).toHaveLength(1);
    }
  });

  test('another host becomes the Database+Sync server while the old one still synchronizes: refused, nothing changed', async () => {
    const inventory = await labInventoryWith({
      'groups.database': { 'rpc-2': { address: '172.30.77.13', user: 'operator', region: 'lab-1' } },
      'groups.rpc': { 'rpc-1': { address: '172.30.77.12' }, 'db-1': { address: '172.30.77.11' } },
    });
    const refused = await runPlaybook('deploy', '-i', inventory);
    expect(refused.exitCode, refused.output).toBe(1);
    expect(refused.output).toMatch(/db-1\s+failed\s+one-synchronizer: no synchronizer runs on an RPC server/);
    expect(named(refused.output, 'changed')).toEqual([]);
    expect(await containers()).toMatch(/^sync$/m);
    const back = await deploy();
    expect(back.exitCode, back.output).toBe(0);
  });

  test('a node elsewhere uses the state database: refused, no synchronizer is started beside it', async () => {
    // Otherwise it would not reach the database.
    const inventory = await labInventoryWith({ 'vars.firewall.internal': ['172.30.77.100'] });
    const opened = await runPlaybook('deploy', '-i', inventory, '--role', 'firewall');
    expect(opened.exitCode, opened.output).toBe(0);
    await withoutSync();
    const password = readFileSync(join(stateDirectory, 'secrets/state_db_password'), 'utf8').trim();
    // Like the node: by TCP, as its user, without an application name.
    const foreign = run({
      input: `set application_name = '';\nselect 1;\n\\watch 1\n`,
    })`docker run --rm --interactive --name foreign-node --network ${network.name} --ip 172.30.77.100 \
      --env ${`PGPASSWORD=${password}`} --entrypoint psql ${imageOf('postgres')} \
      --host 172.30.77.11 --username state_user state_db`.nothrow();
    onTestFinished(async () => {
      await run`docker rm -f foreign-node`.nothrow();
      await foreign;
    });
    await expect
      .poll(
        () =>
          onHost(
            'db-1',
            `docker exec state-db psql -XAtU state_user -d state_db -c "select client_addr from pg_stat_activity where application_name = ''"`,
          ),
        { timeout: 30_000 },
      )
      .toContain('172.30.77.100');
    const refused = await runPlaybook('deploy', '-i', inventory);
    expect(refused.exitCode, refused.output).toBe(1);
    expect(refused.output).toMatch(
      /a node on 172\.30\.77\.100 is connected to the state database, and is not a host of this inventory/,
    );
    expect(await containers()).not.toMatch(/^sync$/m);
    await run`docker rm -f foreign-node`;
    const next = await deploy();
    expect(next.exitCode, next.output).toBe(0);
    expect(await containers()).toMatch(/^sync$/m);
  });
});
