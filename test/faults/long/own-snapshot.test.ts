import type { Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { $ } from 'zx';
import { hostNamed } from '../../../lab/layout.mjs';
import { checksums } from '../../../lab/outside.mjs';
import { resetHosts } from '../../../lab/reset.mjs';
import { labUp } from '../../../lab/up.mjs';
import { serveFolder } from '../../deploy/folder-server.ts';
import { labHosts, onHost, rpc, stateSql } from '../../deploy/lab-host.ts';
import { folderForTest, labInventoryWith } from '../../deploy/lab-inventory.ts';
import { runPlaybook } from '../../deploy/playbook.ts';
import { measured } from '../measured.ts';

let server: Server | undefined;

beforeAll(async () => {
  await labUp({ log: console.error });
});

afterAll(async () => {
  server?.close();
  await resetHosts([...labHosts]);
});

const rowsUpTo = (block: number) =>
  stateSql(
    `select count(*), md5(string_agg(block_hash, ',' order by block_num)) from state.l2block where block_num <= ${block}`,
  );
const proverRows = () =>
  onHost(
    'db-1',
    `docker exec state-db psql -XqAt -U state_user -d prover_db -c 'select count(*) from state.nodes'`,
  );

describe('Own snapshots', () => {
  test('bare hosts are deployed to from a snapshot of our own, by pg_restore and by the tool of the node', async ({
    task,
  }) => {
    const first = await runPlaybook('deploy', '-i', 'lab', '--yes');
    expect(first.exitCode, first.output).toBe(0);
    const folder = `/data/snapshots/${process.pid}`;
    const taken = await runPlaybook('snapshot', '-i', 'lab', '--to', folder, '--yes');
    expect(taken.exitCode, taken.output).toBe(0);
    const served = await folderForTest();
    await $`docker exec ${hostNamed('db-1').container} tar -C ${folder} -c . | tar -C ${served} -x`;
    const folderServer = await serveFolder(served, 8790);
    server = folderServer.server;
    const manifest = join(served, 'manifest.json');
    const { block, hash } = JSON.parse(await onHost('db-1', `cat ${folder}/manifest.json`));
    const [rows, nodes] = [await rowsUpTo(block), Number(await proverRows())];
    const { genesis_sha256 } = await checksums();
    const seconds: string[] = [];
    for (const tool of ['pg_restore', 'image']) {
      await resetHosts([...labHosts]);
      const inventory = await labInventoryWith({
        // It has the checksums of the lab's own snapshot.
        vars_files: undefined,
        'vars.network.genesis.sha256': genesis_sha256,
        'vars.snapshot': { restore_with: tool, manifest, from: folderServer.url },
      });
      const start = performance.now();
      const run = await runPlaybook('deploy', '-i', inventory);
      expect(run.exitCode, run.output).toBe(0);
      seconds.push(`${tool} ${Math.round((performance.now() - start) / 1000)} s`);
      expect(await rowsUpTo(block), tool).toBe(rows);
      // The prover writes more as the chain goes on.
      expect(Number(await proverRows()), tool).toBeGreaterThan(nodes / 2);
      const shown = (await rpc('rpc-1', 'eth_getBlockByNumber', [`0x${block.toString(16)}`, false])) as {
        hash: string;
      };
      expect(shown.hash, tool).toBe(hash);
      const again = await runPlaybook('deploy', '-i', inventory, '--check');
      expect(again.exitCode, again.output).toBe(0);
    }
    measured(task, `block ${block}; ${seconds.join(', ')}`);
  }, 3_600_000);
});
