import type { Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { $ } from 'zx';
import { hostNamed } from '../../lab/layout.mjs';
import { checksums } from '../../lab/outside.mjs';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import { serveFolder } from './folder-server.ts';
import { labHosts, onHost, rpc } from './lab-host.ts';
import { folderForTest, labInventoryWith } from './lab-inventory.ts';
import { runPlaybook, startPlaybook } from './playbook.ts';

// A physical snapshot of the lab's deployment, and bare hosts that start from it under other names.

const folder = `/data/snapshots/physical-${process.pid}`;
let server: Server;
let served: { readonly manifest: string; readonly from: string };
let manifest: { readonly block: number; readonly hash: string; readonly pieces: readonly unknown[] };

beforeAll(async () => {
  await labUp({ log: console.error });
  await resetHosts([...labHosts]);
  const { exitCode, output } = await runPlaybook('deploy', '-i', 'lab', '--yes');
  expect(exitCode, output).toBe(0);
});

afterAll(async () => {
  server?.close();
  await resetHosts([...labHosts]);
});

/** The lab with other users and databases, and a physical snapshot in place of archives. */
async function otherInventory(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { genesis_sha256 } = await checksums();
  return labInventoryWith({
    vars_files: undefined,
    'vars.network.genesis.sha256': genesis_sha256,
    'vars.snapshot': served,
    'vars.credentials.state.user': 'other_state',
    'vars.credentials.state.database': 'other_state_db',
    'vars.credentials.prover.user': 'other_prover',
    'vars.credentials.prover.database': 'other_hashes',
    ...more,
  });
}

const otherSql = (query: string) =>
  onHost('db-1', `docker exec state-db psql -XqAtU other_state -d other_state_db -c "${query}"`);

test('it is taken while the chain goes on, and a second run has nothing to do', async () => {
  const take = () => runPlaybook('snapshot', '-i', 'lab', '--physical', '--to', folder, '--yes');
  const checked = await runPlaybook('snapshot', '-i', 'lab', '--physical', '--to', folder, '--check');
  expect(checked.exitCode, checked.output).toBe(2);
  const taken = await take();
  expect(taken.exitCode, taken.output).toBe(0);
  const again = await take();
  expect(again.output).toMatch(/^db-1 +\d+ +0 +0 /m);
  const copy = await folderForTest();
  await $`docker exec ${hostNamed('db-1').container} tar -C ${folder} -c . | tar -C ${copy} -x`;
  manifest = JSON.parse(await onHost('db-1', `cat ${folder}/manifest.json`));
  const { url, server: own } = await serveFolder(copy, 8791);
  server = own;
  served = { manifest: join(copy, 'manifest.json'), from: url };
});

test('of another chain it is refused, in check mode, before anything is fetched', async () => {
  const other = await otherInventory({ 'vars.network.chain_id': 1 });
  const { exitCode, output } = await runPlaybook('deploy', '-i', other, '--check');
  expect(exitCode).not.toBe(0);
  expect(output).toContain('is of another chain: its chain_id is');
});

test('bare hosts start from it, also where the unpacking is killed, and serve the block of its manifest', async () => {
  await resetHosts([...labHosts]);
  const inventory = await otherInventory();
  const killed = startPlaybook('deploy', '-i', inventory, '--yes');
  await expect
    .poll(() => onHost('db-1', 'ls -d /data/state-db.rpc-node-copy/run 2>/dev/null || :'), {
      timeout: 600_000,
      interval: 50,
    })
    .not.toBe('');
  await onHost('db-1', 'systemctl kill --signal KILL rpc-node-unpack 2>/dev/null || :');
  const { exitCode } = await killed.ended;
  // It may have ended before the signal.
  if (exitCode !== 0)
    expect(await onHost('db-1', "docker ps --format '{{.Names}}'")).not.toContain('state-db');
  const run = await runPlaybook('deploy', '-i', inventory, '--yes');
  expect(run.exitCode, run.output).toBe(0);
  const { block, hash } = manifest;
  expect(await otherSql(`select block_hash from state.l2block where block_num = ${block}`)).toBe(hash);
  const shown = (await rpc('rpc-1', 'eth_getBlockByNumber', [`0x${block.toString(16)}`, false])) as {
    hash: string;
  };
  expect(shown.hash).toBe(hash);
  expect(await otherSql('select count(*) from pg_roles where oid >= 16384')).toBe('1');
  expect(await onHost('db-1', 'ls -d /data/state-db.rpc-node-copy 2>/dev/null || :')).toBe('');
});

test('the chain goes on, and the next deploy has nothing to do', async () => {
  const newest = async () => Number(await otherSql('select max(block_num) from state.l2block'));
  const before = await newest();
  await expect.poll(newest, { timeout: 60_000 }).toBeGreaterThan(before);
  const { exitCode, output } = await runPlaybook('deploy', '-i', await otherInventory(), '--check');
  expect(exitCode, output).toBe(0);
});
