import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checksums } from '../../../lab/outside.mjs';
import { resetHosts } from '../../../lab/reset.mjs';
import { labUp } from '../../../lab/up.mjs';
import { labHosts, onHost, stateSql } from '../../deploy/lab-host.ts';
import { folderForTest, labInventoryWith } from '../../deploy/lab-inventory.ts';
import { runPlaybook, runPlaybookIn } from '../../deploy/playbook.ts';
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
  const seen = ['rpc-1', 'rpc-2'].map((host) =>
    onHost(host, `docker inspect --format '${format}' json-rpc || :`),
  );
  return (await Promise.all(seen)).some((each) => each.endsWith(':v1.2.3 true'));
}

describe('From the older generation to the current, in place', () => {
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
      // Killed, and nothing else: a run that fails by itself could not continue after the previous
      // kill.
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
    // The host notes it: the controller may have been killed just before.
    const onHosts = await Promise.all(
      labHosts.map((host) => onHost(host, 'sort -u /dev/shm/killed-between-steps || :')),
    );
    const between = onHosts.flatMap((lines) => lines.split('\n').filter(Boolean));
    expect(between.length).toBeGreaterThan(0);
    measured(task, `${boundaries.length} runs killed, and between ${between.length} pairs of steps`);
    const again = await runPlaybook('deploy', '-i', inventory, '--check');
    expect(again.exitCode, again.output).toBe(0);
    expect(again.output).not.toMatch(/\s(pending|unknown)\s+\S+: /);
    expect(await stateSql(blocks)).toBe(before);
  }, 7_200_000);
});
