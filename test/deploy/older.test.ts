import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checksums } from '../../lab/outside.mjs';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import { filesHereWithPasswords, filesWithPasswords, labPasswords, watchProcesses } from './canary.ts';
import {
  blockNumber,
  files,
  labHosts,
  onHost,
  rpc,
  specifiedIndexes,
  started,
  stateIndexes,
  stateSql,
} from './lab-host.ts';
import { folderForTest, labInventoryWith } from './lab-inventory.ts';
import { runPlaybook, summaryOf } from './playbook.ts';

const hosts = ['db-1', 'rpc-1'] as const;
const registry = '172.30.77.10:5000';
const served = 'http://172.30.77.10:8080';

/** The lab as a deployment of the older generation; the restore tool is in the node's image. */
async function olderInventory(): Promise<string> {
  const { older } = await checksums();
  return labInventoryWith({
    'groups.rpc.rpc-2': undefined,
    'vars.generation': 'older',
    'vars.images.node': `${registry}/node:v1.2.3`,
    'vars.images.prover': `${registry}/prover:v1.0.0`,
    'vars.network.genesis': { url: `${served}/genesis_older.json`, sha256: older.genesis_sha256 },
    'vars.snapshot.state': { url: `${served}/older/testnet_state_db.sql.tar.gz`, sha256: older.state_sha256 },
    'vars.snapshot.restore_with': 'image',
    'vars.snapshot.source': undefined,
  });
}

beforeAll(async () => {
  await labUp({ log: console.error });
  // All hosts: containers of another deployment must not use these databases.
  await resetHosts([...labHosts]);
});

// Other tests must not start with a node of this generation.
afterAll(() => resetHosts([...labHosts]));

test('the first run deploys a serving node of the older generation to bare hosts, and no password is shown', async () => {
  const passwords = await labPasswords();
  const stopWatching = watchProcesses(passwords);
  const report = join(await folderForTest(), 'report.html');
  const shown = ['--json', '--verbose', '--diff', '--report', report];
  const run = await runPlaybook('deploy', '--inventory', await olderInventory(), ...shown);
  const inCommandLines = await stopWatching();
  expect(run.exitCode, run.output).toBe(0);
  expect(run.stdout).toContain('"type":"run-finished"');
  expect(inCommandLines).toEqual([]);
  const [record = ''] = (await readdir('.runs'))
    .filter((name) => name.endsWith('-lab-changed.ndjson'))
    .sort()
    .reverse();
  const outputs = [run.output, await readFile(report, 'utf8'), await readFile(join('.runs', record), 'utf8')];
  for (const text of outputs) {
    expect(text).toContain('time zone is Etc/UTC');
    for (const password of passwords) expect(text).not.toContain(password);
  }
  for (const host of hosts) expect(await filesWithPasswords(host, passwords), host).toEqual([]);
  expect(await filesHereWithPasswords(passwords)).toEqual([]);
});

test('a task that fails shows no password either', async () => {
  const passwords = await labPasswords();
  const inventory = await olderInventory();
  await onHost('rpc-1', 'rm /opt/rpc-node/node.config.toml && mkdir /opt/rpc-node/node.config.toml');
  for (const form of [['--json'], ['--check'], []]) {
    const run = await runPlaybook(
      'deploy',
      '--inventory',
      inventory,
      '--limit',
      'rpc-1',
      '--verbose',
      '--diff',
      ...form,
    );
    expect([1, 2], run.output).toContain(run.exitCode);
    for (const password of passwords) expect(run.output).not.toContain(password);
  }
  await onHost('rpc-1', 'rmdir /opt/rpc-node/node.config.toml');
  const fixed = await runPlaybook('deploy', '--inventory', inventory, '--limit', 'rpc-1');
  expect(fixed.exitCode, fixed.output).toBe(0);
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
  expect(await running('rpc-1', 'json-rpc')).toBe(node);
  for (const host of hosts) expect(await running(host, 'prover')).toBe(prover);
});

test('the snapshot was restored by the tool of the image, which resolved state-db by the hosts file', async () => {
  expect(await onHost('db-1', `sed -n '/\\sstate-db$/p' /etc/hosts`)).toBe('127.0.0.1 state-db');
  expect(await onHost('rpc-1', `sed -n '/\\sstate-db$/p' /etc/hosts`)).toBe('');
  const restore = await onHost('db-1', 'cat /data/snapshot/restore.log');
  expect(restore).toContain('"version":"v1.2.3"');
  expect(await onHost('db-1', 'ls /data/snapshot; command -v go || true')).not.toMatch(/^(source|tool)$|\/go$/m);
});

test('the node uses the database of [StateDB]', async () => {
  for (const host of hosts) {
    const sections = await onHost(host, `sed -n 's/^\\[\\(State.*\\)\\]$/\\1/p' /opt/rpc-node/node.config.toml`);
    expect(sections).toBe('StateDB');
  }
  const sync = await onHost(
    'db-1',
    `docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' sync`,
  );
  const clients = await stateSql(
    `select host(client_addr) from pg_stat_activity where datname = current_database() and client_addr is not null`,
  );
  expect(new Set(clients.split('\n'))).toEqual(new Set([sync, '172.30.77.12']));
});

test('the state database is of the older generation, with the indexes that its snapshot lacked', async () => {
  expect(await stateSql('select max(id) from gorp_migrations')).toBe('0003.sql');
  expect(await stateIndexes()).toEqual(expect.arrayContaining(specifiedIndexes));
});

test('json-rpc answers with a block of the database, and blocks grow', async () => {
  const first = await blockNumber('rpc-1');
  expect(first).toBeGreaterThan(4000);
  const block = (await rpc('rpc-1', 'eth_getBlockByNumber', [`0x${first.toString(16)}`, false])) as { hash: string };
  expect(block.hash).toBe(await stateSql(`select block_hash from state.l2block where block_num = ${first}`));
  await expect.poll(() => blockNumber('rpc-1'), { timeout: 60_000, interval: 1000 }).toBeGreaterThan(first);
});

test('a second run changes nothing, restarts nothing, writes no file', async () => {
  const seen = () => Promise.all(hosts.flatMap((host) => [started(host), files(host)]));
  const before = await seen();
  const run = await runPlaybook('deploy', '--inventory', await olderInventory());
  expect(run.exitCode, run.output).toBe(0);
  for (const row of Object.values(summaryOf(run.output))) expect(row).toMatchObject({ changed: '0', failed: '0' });
  expect(await seen()).toEqual(before);
});
