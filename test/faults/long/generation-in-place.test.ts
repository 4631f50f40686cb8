import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checksums } from '../../../lab/outside.mjs';
import { resetHosts } from '../../../lab/reset.mjs';
import { labUp } from '../../../lab/up.mjs';
import { labHosts, onHost, poolSql, started, stateSql } from '../../deploy/lab-host.ts';
import { folderForTest, labInventoryWith } from '../../deploy/lab-inventory.ts';
import { runPlaybook, runPlaybookIn, startPlaybook } from '../../deploy/playbook.ts';
import { measured } from '../measured.ts';
import { seed } from '../seed.ts';

const killer = fileURLToPath(new URL('./kill-at-boundary.mjs', import.meta.url));
const served = 'http://172.30.77.10:8080';
const fromImage = { 'vars.snapshot.restore_with': 'image', 'vars.snapshot.source': undefined };

beforeAll(() => labUp({ log: console.error }));

async function olderInventory(): Promise<string> {
  const { older } = await checksums();
  return labInventoryWith({
    ...fromImage,
    'vars.generation': 'older',
    'vars.network.genesis': { url: `${served}/genesis_older.json`, sha256: older.genesis_sha256 },
    'vars.snapshot.state': { url: `${served}/older/testnet_state_db.sql.tar.gz`, sha256: older.state_sha256 },
  });
}

async function deployOlder(): Promise<void> {
  await resetHosts([...labHosts]);
  const run = await runPlaybook('deploy', '-i', await olderInventory());
  expect(run.exitCode, run.output).toBe(0);
}

afterAll(() => resetHosts([...labHosts]));

const blocks =
  'select md5(string_agg(block_hash, $$,$$ order by block_num)) from state.l2block where block_num <= 3000';

/** Whether json-rpc of the older generation runs on any RPC server. */
async function olderServes(): Promise<boolean> {
  const format = '{{.Config.Image}} {{.State.Running}}';
  const seen = ['rpc-1', 'rpc-2'].map((host) => onHost(host, `docker inspect --format '${format}' json-rpc || :`));
  return (await Promise.all(seen)).some((each) => each.endsWith(':v1.2.3 true'));
}

const containers = () => Promise.all(labHosts.map(started));

describe('From the older generation to the current, in place', () => {
  test("killed after a pool database's migration is renamed and before its program starts: the next run goes on", async ({
    task,
  }) => {
    await deployOlder();
    const inventory = await labInventoryWith(fromImage);
    for (const at of [
      /db-1\s+changed\s+sync: pool database has the migration names/,
      /rpc-\d\s+changed\s+json-rpc: pool database has the migration names/,
    ]) {
      const run = startPlaybook('deploy', '-i', inventory);
      await expect.poll(run.output, { timeout: 600_000, interval: 20 }).toMatch(at);
      run.child.kill('SIGKILL');
      await run.ended;
      expect(await olderServes()).toBe(false);
    }
    const since = Date.now();
    const run = await runPlaybook('deploy', '-i', inventory);
    expect(run.exitCode, run.output).toBe(0);
    const names = `select string_agg(id, ' ' order by id) from gorp_migrations where id like '%-%'`;
    for (const host of labHosts) expect(await poolSql(host, names)).toBe('specialed-001.sql validium-001.sql');
    measured(task, `2 runs killed; the run after them took ${Math.round((Date.now() - since) / 1000)} s`);
  });

  test('a downgrade after that is refused in the plan, the deploy and the rollback, and nothing is stopped', async ({
    task,
  }) => {
    const before = await containers();
    const inventory = await olderInventory();
    const runs = [
      ['deploy', '-i', inventory, '--check'],
      ['deploy', '-i', inventory],
      ['deploy', '-i', inventory, '--limit', 'rpc-1', '--role', 'json-rpc'],
      ['rollback', '-i', inventory, '--to', '1'],
      ['rollback', '-i', await labInventoryWith(fromImage), '--to', '1'],
    ] as const;
    for (const [playbook, ...options] of runs) {
      const run = await runPlaybook(playbook, ...options);
      expect(run.exitCode, run.output).toBe(1);
      expect(run.output.replace(/\s+/g, ' ')).toContain('no version of the node undoes a migration');
      expect(await containers()).toEqual(before);
    }
    measured(task, `${runs.length} runs refused, 0 containers stopped`);
  });

  test('the controller is killed before, during and after every change, and between the steps of a script: the next run goes on', async ({
    task,
  }) => {
    const file = join(await folderForTest(), 'killed');
    writeFileSync(file, '');
    await deployOlder();
    const before = await stateSql(blocks);
    const inventory = await labInventoryWith(fromImage);
    const environment = { NODE_OPTIONS: `--import ${killer}`, KILLED: file, KILL_SEED: String(seed) };
    for (;;) {
      const last = readFileSync(file, 'utf8').trim().split('\n').at(-1);
      const run = await runPlaybookIn(environment, 'deploy', '-i', inventory, '--forks', '1', '--json');
      const isMigrated = (await stateSql('select max(id) from gorp_migrations')) === 'validium-001.sql';
      expect(isMigrated && (await olderServes()), `after ${last}`).toBe(false);
      if (run.exitCode === 0) break;
      // Killed, and nothing else: a run that fails by itself could not continue after the previous kill.
      expect(run.exitCode, `after ${last}:\n${run.output}`).toBe(null);
    }
    const boundaries = readFileSync(file, 'utf8').trim().split('\n');
    for (const change of [
      'former-version: json-rpc of another',
      'former-version: sync of another',
      'sync: pool database has the migration names',
      'sync: sync is running',
      'json-rpc: pool database has the migration names',
    ])
      expect(boundaries.join('\n')).toContain(change);
    expect(boundaries.some((boundary) => boundary.startsWith('["between",'))).toBe(true);
    measured(task, `${boundaries.length} runs killed`);
    const again = await runPlaybook('deploy', '-i', inventory, '--check');
    expect(again.exitCode, again.output).toBe(0);
    expect(again.output).not.toMatch(/\s(pending|unknown)\s+\S+: /);
    expect(await stateSql(blocks)).toBe(before);
  }, 7_200_000);
});
