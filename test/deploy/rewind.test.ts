import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { measured } from '../faults/measured.ts';
import { blockNumber, onHost, rpc, started } from './lab-host.ts';
import { runPlaybook, startPlaybook } from './playbook.ts';
import { deployWithReplica, expectConverged, servedBy, watchWriters } from './switched-lab.ts';

// On the lab db-1 serves, rpc-2 is its replica, and rpc-1 reads that. The trusted sequencer gets
// other blocks from a number on.

deployWithReplica();

const hosts = ['db-1', 'rpc-1', 'rpc-2'] as const;
const run = async (playbook: string, ...args: readonly string[]) =>
  runPlaybook(playbook, '--inventory', await servedBy('db-1'), ...args);

/** The lab's control interface of the trusted sequencer. 0 ends the fork. */
async function fork(from: number): Promise<void> {
  const answer = await fetch(`http://172.30.77.10:8090/control/sequencer/fork?from=${from}`, {
    method: 'POST',
  });
  expect(answer.status).toBe(204);
}

afterAll(() => fork(0));

const sql = (server: 'db-1' | 'rpc-2', query: string) =>
  onHost(server, `docker exec -i state-db psql -XqAtU state_user -d state_db <<'SQL'\n${query}\nSQL`);
const newest = async (server: 'db-1' | 'rpc-2' = 'db-1') =>
  Number(await sql(server, 'select max(block_num) from state.l2block'));
const startedOnAll = () => Promise.all(hosts.map(started));

/** The block that has to be typed. */
async function found(): Promise<string> {
  const { exitCode, output } = await run('rewind', '--check');
  expect(exitCode, output).toBe(1);
  expect(output).toContain('has no way back: the inventory has no host in group backup');
  const [, block] = /type its number: --to (\d+)/.exec(output) ?? [];
  if (block === undefined) throw new Error(output);
  return block;
}

/** The state database, the replica and json-rpc have the blocks of the trusted sequencer, which grow. */
async function expectRewound(since: number): Promise<void> {
  await expect.poll(() => newest(), { timeout: 120_000, interval: 1000 }).toBeGreaterThan(since);
  await expect.poll(() => newest('rpc-2'), { timeout: 120_000, interval: 1000 }).toBeGreaterThan(since);
  await expect.poll(() => blockNumber('rpc-1'), { timeout: 120_000, interval: 1000 }).toBeGreaterThan(since);
  const number = `0x${since.toString(16)}`;
  const body = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: [number, false] };
  const answer = await fetch('http://172.30.77.10:8545', { method: 'POST', body: JSON.stringify(body) });
  const { result } = (await answer.json()) as { result: { hash: string } };
  for (const server of ['db-1', 'rpc-2'] as const)
    expect(await sql(server, `select block_hash from state.l2block where block_num = ${since}`)).toBe(
      result.hash,
    );
  expect(await rpc('rpc-1', 'eth_getBlockByNumber', [number, false])).toMatchObject({ hash: result.hash });
}

describe('a rewind', () => {
  test('where the chains agree nothing is done', async () => {
    const before = await startedOnAll();
    for (const args of [['--check'], ['--yes'], ['--yes', '--to', '7']])
      expectConverged(await run('rewind', ...args));
    expect(await startedOnAll()).toEqual(before);
  });

  test('it refuses without the number of the block, with another one, beside another synchronizer, and with another chain', async () => {
    await fork((await newest()) - 10);
    const [before, height] = [await startedOnAll(), await newest()];
    const to = await found();
    const refused = async (words: string, ...args: readonly string[]) => {
      const { exitCode, output } = await run('rewind', '--yes', ...args);
      expect(exitCode, output).toBe(1);
      expect(output).toContain(words);
    };
    await refused('has no way back');
    await refused(`is not the block at which the rewind ends: that is ${to}`, '--to', `${Number(to) + 1}`);
    const other = { 'vars.network.trusted_sequencer_url': 'http://172.30.77.10:8546' };
    const inventory = await servedBy('db-1', other);
    const ofOther = await runPlaybook('rewind', '--inventory', inventory, '--yes', '--to', to);
    expect(ofOther.exitCode, ofOther.output).toBe(1);
    expect(ofOther.output).toContain(
      'is of the chain with id 55555, and has to be of the one with id 686868',
    );
    const image = '$(docker inspect --format {{.Image}} pool-db)';
    await onHost('rpc-1', `docker run --detach --name sync --entrypoint sleep ${image} 600`);
    try {
      await refused('the container sync is running', '--to', to);
    } finally {
      await onHost('rpc-1', 'docker rm -f sync');
    }
    expect(await startedOnAll()).toEqual(before);
    expect(await newest()).toBe(height);
  });

  test('the plan shows what goes, and changes nothing', async () => {
    const before = await startedOnAll();
    const { exitCode, output } = await run('rewind', '--check', '--diff', '--to', await found());
    expect(exitCode, output).toBe(2);
    expect(output).toContain('docker stop --time 120 sync');
    expect(output).toMatch(/goes: \d+ blocks?, in batches \d+ to \d+/);
    expect(output).toMatch(/delete from state\.batch where batch_num > \d+/);
    expect(output).toMatch(/rpc-1 +unknown +rewind: json-rpc has been started since the rewind/);
    expect(await startedOnAll()).toEqual(before);
  });

  test('killed at its boundaries, the next run goes on: never two synchronizers, never half of it', async ({
    task,
  }) => {
    const to = await found();
    const [inventory, height] = [await servedBy('db-1'), await newest()];
    const end = watchWriters(hosts);
    const moments = [
      /changed +rewind: sync does not run during the rewind/,
      /changed +rewind: the blocks of the state database are those/,
      /changed +rewind: sync runs again after the rewind/,
      /changed +rewind: json-rpc has been started since the rewind/,
    ];
    let killed = 0;
    for (const moment of moments) {
      const going = startPlaybook('rewind', '-i', inventory, '--to', to, '--yes', '--break-lock');
      let ended = false;
      void going.ended.then(() => (ended = true));
      while (!ended && !moment.test(going.output())) await sleep(10);
      if (!ended) killed += 1;
      going.child.kill('SIGKILL');
      const { output } = await going.ended;
      if (ended) expect(output).toMatch(moment);
    }
    expectConverged(await run('rewind', '--to', to, '--yes', '--break-lock'));
    const seen = await end();
    measured(
      task,
      `${killed} runs killed; at most ${seen.sync} synchronizer; no synchronizer for ${seen.pause.toFixed(0)} s`,
    );
    expect(killed).toBeGreaterThan(2);
    expect(seen).toMatchObject({ sync: 1, writes: 1 });
    expect(await sql('db-1', 'select reason from state.trusted_reorg')).toBe(
      `rpc-node: rewound to block ${to}`,
    );
    await expectRewound(height);
    expectConverged(await run('status'));
    expectConverged(await run('deploy', '--check'));
  });

  test('in one go, and its RPC servers answer but for their restart', async ({ task }) => {
    const height = await newest();
    await fork(0);
    const to = await found();
    const begin = performance.now();
    expectConverged(await run('rewind', '--yes', '--to', to));
    measured(task, `${Math.round((performance.now() - begin) / 1000)} s for ${height - Number(to)} blocks`);
    await expectRewound(height);
    const again = await startedOnAll();
    expectConverged(await run('rewind', '--yes'));
    expect(await startedOnAll()).toEqual(again);
  });
});
