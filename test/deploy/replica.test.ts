import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { labUp } from '../../lab/up.mjs';
import { blockNumber, onHost, rpc, started, stateSql } from './lab-host.ts';
import { folderForTest, labInventoryWith } from './lab-inventory.ts';
import { runPlaybook } from './playbook.ts';

// A replica on the lab: rpc-2 is one here, and rpc-1 reads it.

let inventory: string;
const without = { 'groups.rpc.rpc-2': undefined };

const deploy = (...args: readonly string[]) =>
  runPlaybook('deploy', '--inventory', inventory, '--yes', ...args);
const status = () => runPlaybook('status', '--inventory', inventory, '--timeout', '120');
const until = (what: () => Promise<unknown>, expected: unknown) =>
  expect.poll(what, { timeout: 120_000, interval: 1000 }).toEqual(expected);

async function converges() {
  const { exitCode, output } = await deploy();
  expect(exitCode, output).toBe(0);
}

/** Queries the replica as its superuser. */
const replicaSql = (query: string) =>
  onHost(
    'rpc-2',
    `docker exec -i state-db psql -XqAt -v ON_ERROR_STOP=1 -U state_user -d state_db <<'SQL'\n${query}\nSQL`,
  );
const clientsOf = (address: string) =>
  `select count(*) > 0 from pg_stat_activity where client_addr = '${address}'`;
const addressOf = { 'rpc-1': '172.30.77.12', 'rpc-2': '172.30.77.13' } as const;
/** The replica's own disk, and how it is mounted. */
const ownDisk = '/data/disk-of-state-db';
const ownMount = `${ownDisk} /data/state-db none bind 0 0`;
const withoutDisk = `
  docker rm -f state-db >/dev/null 2>&1 || :
  if mountpoint -q /data/state-db; then umount /data/state-db; fi
  sed -i '\\|^${ownDisk} |d' /etc/fstab
  rm -rf ${ownDisk} /data/state-db`;
const slots = () => stateSql('select slot_name, active, wal_status from pg_replication_slots');

beforeAll(async () => {
  await labUp({ log: console.error });
  const password = join(await folderForTest(), 'password');
  await writeFile(password, `${randomBytes(12).toString('hex')}\n`, { mode: 0o600 });
  inventory = await labInventoryWith(without);
  await onHost('rpc-2', 'docker rm -f json-rpc prover pool-db >/dev/null 2>&1 || :');
  await onHost('rpc-2', `${withoutDisk} /data/state-db.*`);
  await converges();
  inventory = await labInventoryWith({
    ...without,
    'groups.replica': { 'rpc-2': { address: addressOf['rpc-2'], user: 'operator' } },
    'vars.replica': { password: `file:${password}` },
    'vars.backup': { most_kept: '96MB' },
  });
});

// Also after a failure: the next files deploy to all servers.
afterAll(() => onHost('rpc-2', withoutDisk));

describe('A replica of the state database', () => {
  test('a replica is added while the database server runs on', async () => {
    const before = await started('db-1');
    await converges();
    expect(await started('db-1')).toBe(before);
    expect(await slots()).toMatch(/^rpc_node_replica_rpc_2_[0-9a-f]{6}\|t\|reserved$/);
    const check = await runPlaybook('deploy', '--inventory', inventory, '--check');
    expect(check.exitCode, check.output).toBe(0);
    const { exitCode, output } = await status();
    expect(exitCode, output).toBe(0);
    expect(output).toMatch(/replica {5}receives, .* behind, 0 queries cancelled/);
  });

  test('the RPC server reads the replica, and opens no connection to the database server', async () => {
    expect(await replicaSql(clientsOf(addressOf['rpc-1']))).toBe('t');
    expect(await stateSql(clientsOf(addressOf['rpc-1']))).toBe('f');
    expect(await onHost('rpc-1', 'grep -c \'"dbReadOnly": true\' /opt/rpc-node/prover.config.json')).toBe(
      '1',
    );
    expect(await onHost('db-1', 'grep -c dbReadOnly /opt/rpc-node/prover.config.json || :')).toBe('0');
    const height = await blockNumber('rpc-1');
    const own = (await rpc('rpc-1', 'eth_getBlockByNumber', [`0x${height.toString(16)}`, false])) as {
      hash: string;
    };
    expect(await stateSql(`select block_hash from state.l2block where block_num = ${height}`)).toBe(own.hash);
    await until(async () => (await blockNumber('rpc-1')) > height, true);
  });

  test('only the RPC servers that read it reach a replica', async () => {
    const reaches = (host: string) =>
      onHost(host, `pg_isready -q -t 3 -h ${addressOf['rpc-2']} -p 5432 && echo yes || echo no`);
    expect(await reaches('rpc-1')).toBe('yes');
    expect(await reaches('db-1')).toBe('no');
  });

  test('a query that stands in the way of the log is cancelled, counted and shown', async () => {
    await replicaSql("alter system set max_standby_streaming_delay = '1s'; select pg_reload_conf()");
    await stateSql('create table public.filler (data text)');
    await until(() => replicaSql("select to_regclass('public.filler')"), 'filler');
    const query = replicaSql('begin; select count(*) from public.filler; select pg_sleep(60)');
    await until(
      () => replicaSql("select count(*) from pg_stat_activity where query ~ '^select pg_sleep'"),
      '1',
    );
    await stateSql('drop table public.filler');
    await expect(query).rejects.toThrow('canceling statement due to conflict with recovery');
    await replicaSql('alter system reset max_standby_streaming_delay; select pg_reload_conf()');
    const { exitCode, output } = await status();
    expect(exitCode, output).toBe(0);
    // The statistics of a replica that was here before may count, too.
    expect(output).toMatch(/state-db: (1 query was|\d+ queries were) cancelled/);
  });

  test('a replica that was away for too long says so, and is copied again, onto a disk of its own, once its data is removed', async () => {
    await onHost('rpc-2', 'docker stop state-db >/dev/null');
    await stateSql('create table public.filler (data text)');
    for (let i = 0; i < 16; i++) {
      await stateSql(
        'insert into public.filler select repeat(md5(i::text), 300) from generate_series(1, 1200) i; select pg_switch_wal(); checkpoint',
      );
    }
    expect(await slots()).toMatch(/\|f\|lost$/);
    const away = await deploy();
    expect(away.exitCode, away.output).toBe(1);
    expect(away.output).toContain('the server does not have the log that this replica needs');
    expect((await status()).output).toContain('state-db: receives nothing from the database server');
    // Other data is never replaced.
    await onHost(
      'rpc-2',
      'docker rm -f state-db >/dev/null; rm -r /data/state-db; mkdir /data/state-db; touch /data/state-db/own',
    );
    const other = await deploy();
    expect(other.exitCode, other.output).toBe(1);
    expect(other.output).toContain('/data/state-db holds files that are of no database: own');
    // A mount of its own cannot be renamed.
    await onHost(
      'rpc-2',
      `rm /data/state-db/own; mkdir ${ownDisk}; echo '${ownMount}' >>/etc/fstab; mount /data/state-db`,
    );
    // The lab's databases have no sorting rules with a version. Only the role of replicas is told
    // one.
    await stateSql(`create function public.pg_database_collation_actual_version(oid) returns text return '2.28';
    alter role rpc_node_replica set search_path = public, pg_catalog`);
    const sorted = await deploy();
    expect(sorted.exitCode, sorted.output).toBe(1);
    expect(sorted.output).toContain('the database server sorts text by version 2.28 of the C library');
    await stateSql(`alter role rpc_node_replica reset search_path;
    drop function public.pg_database_collation_actual_version(oid)`);
    await converges();
    await stateSql('drop table public.filler');
    const { exitCode, output } = await status();
    expect(exitCode, output).toBe(0);
    expect(await onHost('rpc-2', 'ls -A /data /data/state-db | { grep copy || :; }')).toBe('');
  });

  test('a replica is removed by a deploy: the RPC server is back, and nothing of it is left on the database server', async () => {
    inventory = await labInventoryWith(without);
    await converges();
    expect(await slots()).toBe('');
    expect(await stateSql("select count(*) from pg_roles where rolname = 'rpc_node_replica'")).toBe('0');
    expect(await onHost('db-1', 'grep -c "rpc-node replica" /data/state-db/pg_hba.conf || :')).toBe('0');
    expect(await stateSql(clientsOf(addressOf['rpc-1']))).toBe('t');
    expect(await onHost('rpc-1', 'grep -c dbReadOnly /opt/rpc-node/prover.config.json || :')).toBe('0');
    const check = await runPlaybook('deploy', '--inventory', inventory, '--check');
    expect(check.exitCode, check.output).toBe(0);
  });
});
