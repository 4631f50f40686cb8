import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checksums } from '../../lab/outside.mjs';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import {
  blockNumber,
  containersOf,
  files,
  labHosts,
  onHost,
  poolSql,
  rpc,
  specifiedIndexes,
  started,
  stateIndexes,
  stateSql,
} from './lab-host.ts';
import { labInventoryWith } from './lab-inventory.ts';
import { named, runPlaybook, startPlaybook, summaryOf } from './playbook.ts';

const hosts = labHosts;
const rpcHosts = ['rpc-1', 'rpc-2'] as const;
const registry = '172.30.77.10:5000';
const served = 'http://172.30.77.10:8080';

/** The same servers and data as a deployment of the current generation. */
const currentInventory = () => labInventoryWith({});

/**
 * The lab as a deployment of the older generation; the restore tool is built from the source's tag
 * of this generation.
 */
async function olderInventory(): Promise<string> {
  const { older } = await checksums();
  return labInventoryWith({
    'vars.generation': 'older',
    'vars.images.node': `${registry}/node:v1.2.3`,
    'vars.images.prover': `${registry}/prover:v1.0.0`,
    'vars.network.genesis': { url: `${served}/genesis_older.json`, sha256: older.genesis_sha256 },
    'vars.snapshot.state': { url: `${served}/older/testnet_state_db.sql.tar.gz`, sha256: older.state_sha256 },
  });
}

/** How many migrations the state database and each pool database have, and the last name. */
async function migrationsOf(): Promise<string[]> {
  const query = `select count(*) || ' ' || max(id) from gorp_migrations`;
  return [await stateSql(query), ...(await Promise.all(hosts.map((host) => poolSql(host, query))))];
}

beforeAll(async () => {
  await labUp({ log: console.error });
  // All hosts: containers of another deployment must not use these databases.
  await resetHosts([...labHosts]);
});

// Other tests must not start with a node of this generation.
afterAll(() => resetHosts([...labHosts]));

test('the first run deploys a serving node of the older generation to bare hosts', async () => {
  const run = await runPlaybook('deploy', '--inventory', await olderInventory());
  expect(run.exitCode, run.output).toBe(0);
});

test('the programs and images are of the older generation', async () => {
  const running = (host: string, container: string) =>
    onHost(
      host,
      `docker inspect --format '{{.Config.Image}}' ${container}; docker exec ${container} readlink /proc/1/exe`,
    );
  const node = `${registry}/node:v1.2.3\n/app/cdk-validium-node`;
  const prover = `${registry}/prover:v1.0.0\n/usr/local/bin/zkProver`;
  expect(await running('db-1', 'sync')).toBe(node);
  for (const host of rpcHosts) expect(await running(host, 'json-rpc')).toBe(node);
  for (const host of hosts) expect(await running(host, 'prover')).toBe(prover);
});

test('the snapshot was restored by the tool of the source, which resolved state-db by the hosts file', async () => {
  expect(await onHost('db-1', `sed -n '/\\sstate-db$/p' /etc/hosts`)).toBe('127.0.0.1 state-db');
  expect(await onHost('rpc-1', `sed -n '/\\sstate-db$/p' /etc/hosts`)).toBe('');
  const restore = await onHost('db-1', 'cat /data/snapshot/restore.log');
  expect(restore).toContain('"version":"v1.2.3"');
  const source = 'ls /data/snapshot/source/dist; git -C /data/snapshot/source describe --tags';
  expect(await onHost('db-1', source)).toBe('cdk-validium-node\nv1.0.0');
});

test('the node uses the database of [StateDB]', async () => {
  for (const host of hosts) {
    const sections = await onHost(
      host,
      `sed -n 's/^\\[\\(State.*\\)\\]$/\\1/p' /opt/rpc-node/node.config.toml`,
    );
    expect(sections).toBe('StateDB');
  }
  const sync = await onHost(
    'db-1',
    `docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' sync`,
  );
  const clients = await stateSql(
    `select host(client_addr) from pg_stat_activity where datname = current_database() and client_addr is not null`,
  );
  expect(new Set(clients.split('\n'))).toEqual(new Set([sync, '172.30.77.12', '172.30.77.13']));
});

test('the databases are of the older generation, the state database with the indexes that its snapshot lacked', async () => {
  expect(await migrationsOf()).toEqual(['8 0008.sql', ...hosts.map(() => '11 supernets-0001.sql')]);
  expect(await stateIndexes()).toEqual(expect.arrayContaining(specifiedIndexes));
});

test('json-rpc answers with a block of the database, and blocks grow', async () => {
  const first = await blockNumber('rpc-1');
  expect(first).toBeGreaterThan(4000);
  const block = (await rpc('rpc-1', 'eth_getBlockByNumber', [`0x${first.toString(16)}`, false])) as {
    hash: string;
  };
  expect(block.hash).toBe(await stateSql(`select block_hash from state.l2block where block_num = ${first}`));
  await expect.poll(() => blockNumber('rpc-1'), { timeout: 60_000, interval: 1000 }).toBeGreaterThan(first);
});

test('a second run changes nothing, restarts nothing, writes no file', async () => {
  const seen = () => Promise.all(hosts.flatMap((host) => [started(host), files(host)]));
  const before = await seen();
  const run = await runPlaybook('deploy', '--inventory', await olderInventory());
  expect(run.exitCode, run.output).toBe(0);
  for (const row of Object.values(summaryOf(run.output)))
    expect(row).toMatchObject({ changed: '0', failed: '0' });
  expect(await seen()).toEqual(before);
});

describe('the inventory changes to the current generation, in place', () => {
  const versions = () =>
    Promise.all(
      hosts.map((host) =>
        onHost(
          host,
          `docker inspect --format '{{.Name}} {{.Config.Image}} {{.State.Status}}' json-rpc sync 2>/dev/null || :`,
        ),
      ),
    );
  const limit = 3000;
  const rows = () =>
    stateSql(
      `select count(*), md5(string_agg(block_hash, ',' order by block_num)) from state.l2block where block_num <= ${limit}`,
    );
  const proverRows = () =>
    onHost(
      'db-1',
      `docker exec state-db psql -XqAt -U state_user -d prover_db -c 'select count(*) from state.nodes'`,
    );
  const hashOf = async (host: string) =>
    ((await rpc(host, 'eth_getBlockByNumber', [`0x${limit.toString(16)}`, false])) as { hash: string }).hash;
  let kept: readonly string[];

  test('a run that leaves out a server or the synchronizer is refused, and stops nothing', async () => {
    kept = [await rows(), await proverRows(), await hashOf('rpc-1')];
    const before = await Promise.all(hosts.map(started));
    const inventory = await currentInventory();
    const older = `${registry}/node:v1.2.3`;
    const together = 'all servers change the version of the node together';
    const refusals: [options: string[], why: string][] = [
      [
        ['--limit', 'db-1', '--check'],
        `${together}: rpc-1: json-rpc runs ${older}, and this run does not change that`,
      ],
      [
        ['--limit', 'db-1,rpc-2'],
        `${together}: rpc-1: json-rpc runs ${older}, and this run does not change that`,
      ],
      [
        ['--limit', 'rpc-1'],
        `${together}: db-1: sync is running with ${older}, not running with ${registry}/node:v3.1.0`,
      ],
      [['--role', 'sync'], `${together}: rpc-1: json-rpc runs ${older}, and this run does not change that`],
      [['--role', 'json-rpc'], `${together}: db-1: sync is running with ${older}`],
    ];
    for (const [options, why] of refusals) {
      const run = await runPlaybook('deploy', '--inventory', inventory, ...options);
      expect(run.exitCode, run.output).toBe(1);
      expect(run.output.replace(/\s+/g, ' ')).toContain(why);
      for (const change of named(run.output, 'changed')) expect(change).toMatch(/: image /);
      expect(await Promise.all(hosts.map(started))).toEqual(before);
    }
  });

  test('a database with a migration that the new version does not know refuses the run, and nothing is stopped', async () => {
    const before = await Promise.all(hosts.map(started));
    const inventory = await currentInventory();
    const insert = `insert into gorp_migrations values ('own-001.sql', now())`;
    const remove = `delete from gorp_migrations where id = 'own-001.sql'`;
    const on = {
      state: (sql: string) => stateSql(sql),
      pool: (sql: string) => poolSql('rpc-2', sql),
    };
    for (const [database, host] of [
      ['state', 'db-1'],
      ['pool', 'rpc-2'],
    ] as const) {
      await on[database](insert);
      for (const options of [['--check'], [], ['--skip-role', 'known-migrations']]) {
        const run = await runPlaybook('deploy', '--inventory', inventory, ...options);
        expect(run.exitCode, run.output).toBe(1);
        expect(run.output).toContain(
          `the ${database} database has own-001.sql, which node v3.1.0 does not know`,
        );
        expect(run.output).toMatch(new RegExp(`^${host}\\s`, 'm'));
      }
      await on[database](remove);
    }
    expect(await Promise.all(hosts.map(started))).toEqual(before);
  });

  test('a database that does not run leaves its migrations unknown: nothing is stopped', async () => {
    const inventory = await currentInventory();
    await onHost('rpc-2', 'docker stop pool-db');
    const before = await Promise.all(hosts.map(started));
    const checked = await runPlaybook('deploy', '--inventory', inventory, '--check');
    expect(named(checked.output, 'unknown')).toContain(
      'rpc-2 known-migrations: pool database has only migrations that node v3.1.0 knows',
    );
    const run = await runPlaybook('deploy', '--inventory', inventory);
    expect(run.exitCode, run.output).toBe(1);
    expect(run.output).toContain('until pool-db is running');
    expect(await Promise.all(hosts.map(started))).toEqual(before);
    // The plan below is the one of a pool-db that has had its five seconds.
    await onHost('rpc-2', 'docker start pool-db && sleep 6');
  });

  test('the plan shows what is stopped, and what waits for it', async () => {
    const run = await runPlaybook('deploy', '--inventory', await currentInventory(), '--check');
    expect(run.exitCode, run.output).toBe(2);
    const stopped = [...named(run.output, 'pending'), ...named(run.output, 'unknown')];
    for (const host of rpcHosts)
      expect(stopped).toContain(`${host} former-version: json-rpc of another version is stopped`);
    expect(stopped).toContain('db-1 former-version: sync of another version is stopped');
    for (const [host, role] of [['db-1', 'sync'], ...rpcHosts.map((rpcHost) => [rpcHost, 'json-rpc'])])
      expect(stopped).toContain(`${host} ${role}: pool database has the migration names of node v3.1.0`);
    expect(run.output).toContain('supernets-0001.sql -> validium-001.sql');
    expect(named(run.output, 'pending')).toContain(
      'db-1 configuration: no line "127.0.0.1 state-db" in /etc/hosts',
    );
    expect(named(run.output, 'unknown')).toContain('db-1 sync: sync is running with its configuration');
    expect(run.output).toMatch(/until json-rpc of \S+node:v1\.2\.3 is stopped on rpc-\d/);
  });

  test('killed between the steps, the next run goes on; json-rpc of the older generation never meets a migrated database', async () => {
    const inventory = await currentInventory();
    const steps = [
      /rpc-\d\s+changed\s+former-version: json-rpc of another version is stopped/,
      /db-1\s+changed\s+prover: prover is running with its configuration/,
      /db-1\s+changed\s+sync: pool database has the migration names/,
      /db-1\s+changed\s+sync: sync is running with its configuration/,
      /rpc-\d\s+changed\s+json-rpc: pool database has the migration names/,
    ];
    for (const step of steps) {
      const run = startPlaybook('deploy', '--inventory', inventory);
      // A run before this one may have made the step after all: then this one ends without it.
      const isReached = () => step.test(run.output()) || run.child.exitCode !== null;
      await expect.poll(isReached, { timeout: 600_000, interval: 20 }).toBe(true);
      run.child.kill('SIGKILL');
      await run.ended;
      const isMigrated = (await stateSql('select count(*) from gorp_migrations')) !== '8';
      if (!isMigrated && !step.source.includes('migration names')) continue;
      for (const seen of await versions())
        expect(seen).not.toMatch(/json-rpc \S+:v1\.2\.3 (running|restarting)/);
    }
    const run = await runPlaybook('deploy', '--inventory', inventory);
    expect(run.exitCode, run.output).toBe(0);
    expect(await versions()).toEqual([
      `/sync ${registry}/node:v3.1.0 running`,
      ...rpcHosts.map(() => `/json-rpc ${registry}/node:v3.1.0 running`),
    ]);
  });

  test('the data are the same, migrated, and blocks grow', async () => {
    expect([await rows(), await proverRows(), await hashOf('rpc-1')]).toEqual(kept);
    expect(await hashOf('rpc-2')).toBe(kept[2]);
    expect(await migrationsOf()).toEqual(['22 validium-001.sql', ...hosts.map(() => '17 validium-001.sql')]);
    const ownNames = `select string_agg(id, ' ' order by id) from gorp_migrations where id like '%-%'`;
    for (const host of hosts)
      expect(await poolSql(host, ownNames)).toBe('specialed-001.sql validium-001.sql');
    for (const host of rpcHosts) {
      const first = await blockNumber(host);
      await expect.poll(() => blockNumber(host), { timeout: 60_000, interval: 1000 }).toBeGreaterThan(first);
    }
  });

  test('nothing of the older generation is left, and a second run changes nothing', async () => {
    expect(await onHost('db-1', `sed -n '/\\sstate-db$/p' /etc/hosts`)).toBe('');
    for (const host of hosts) {
      expect(await onHost(host, `grep -l 'StateDB' /opt/rpc-node/* || :`)).toBe('');
      const names = await onHost(host, `docker ps --all --format '{{.Names}}'`);
      expect(new Set(names.split('\n'))).toEqual(new Set(containersOf[host]));
    }
    const before = await Promise.all(hosts.flatMap((host) => [started(host), files(host)]));
    const run = await runPlaybook('deploy', '--inventory', await currentInventory());
    expect(run.exitCode, run.output).toBe(0);
    for (const row of Object.values(summaryOf(run.output)))
      expect(row).toMatchObject({ changed: '0', failed: '0' });
    expect(await Promise.all(hosts.flatMap((host) => [started(host), files(host)]))).toEqual(before);
  });

  test('the way back is refused in the plan, the deploy and the rollback on all hosts, and nothing is stopped', async () => {
    const containersBefore = await Promise.all(hosts.map(started));
    const filesBefore = await Promise.all(hosts.map(files));
    const why = 'the state database has 14 migrations that node v1.2.3 does not know: 0009.sql';
    const inventory = await olderInventory();
    const way =
      'no version of the node undoes a migration: deploy one that knows them, or go back to a snapshot or a backup from before';
    for (const options of [['--check'], [], ['--limit', 'db-1'], ['--skip-role', 'known-migrations']]) {
      const run = await runPlaybook('deploy', '--inventory', inventory, ...options);
      expect(run.exitCode, run.output).toBe(1);
      expect(run.output.replace(/\s+/g, ' ')).toContain(why);
      expect(run.output.replace(/\s+/g, ' ')).toContain(way);
    }
    const onlyPool = await runPlaybook(
      'deploy',
      '--inventory',
      inventory,
      '--limit',
      'rpc-1',
      '--role',
      'json-rpc',
    );
    expect(onlyPool.exitCode, onlyPool.output).toBe(1);
    expect(onlyPool.output.replace(/\s+/g, ' ')).toContain(way);
    // The releases of the older generation are still kept.
    for (const current of [await currentInventory(), inventory]) {
      const run = await runPlaybook('rollback', '--inventory', current, '--to', '1');
      expect(run.exitCode, run.output).toBe(1);
      expect(run.output.replace(/\s+/g, ' ')).toMatch(/has 22, and release 1 of db-1 \(v1\.2\.3\) needs 8/);
      expect(run.output.replace(/\s+/g, ' ')).toContain(way);
      expect(run.output).not.toContain('put that back in the inventory');
    }
    expect(await Promise.all(hosts.map(started))).toEqual(containersBefore);
    await onHost('db-1', 'docker stop state-db');
    const seen = await Promise.all(hosts.map(started));
    const run = await runPlaybook('deploy', '--inventory', inventory);
    expect(run.exitCode, run.output).toBe(1);
    expect(run.output).toContain('until state-db is running');
    expect(await Promise.all(hosts.map(started))).toEqual(seen);
    await onHost('db-1', 'docker start state-db');
    expect(await Promise.all(hosts.map(files))).toEqual(filesBefore);
  });
});
