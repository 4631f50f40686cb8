import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { $ } from 'zx';
import { measured } from '../faults/measured.ts';
import { blockNumber, onHost, rpc, started } from './lab-host.ts';
import { type Ended, runPlaybook, startPlaybook } from './playbook.ts';
import {
  deployWithReplica,
  expectConverged,
  type Server,
  servedBy,
  switchTo,
  watchWriters,
  writers,
} from './switched-lab.ts';

deployWithReplica();

const sql = (server: Server, query: string) =>
  onHost(
    server,
    `docker exec -i state-db psql -XqAt -v ON_ERROR_STOP=1 -U state_user -d state_db <<'SQL'\n${query}\nSQL`,
  );
const until = (what: () => Promise<unknown>, expected: unknown) =>
  expect.poll(what, { timeout: 180_000, interval: 1000 }).toEqual(expected);

/** Asks the RPC server for its height, five times a second, until it is ended. */
async function readsDuring(work: () => Promise<void>) {
  await onHost(
    'rpc-1',
    `rm -f /tmp/reads; cat >/tmp/reads.sh <<'SH'
     while [ ! -e /tmp/reads-end ]; do
       curl -sS -m 5 -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x100",false]}' \\
         http://127.0.0.1:8123/ 2>&1 | grep -q '"hash"' && echo ok || echo failed
       sleep 0.2
     done >/tmp/reads
SH
     rm -f /tmp/reads-end; systemd-run --quiet --unit=test-reads sh /tmp/reads.sh`,
  );
  try {
    await work();
  } finally {
    await onHost('rpc-1', 'touch /tmp/reads-end; sleep 1; systemctl stop test-reads 2>/dev/null || :');
  }
  const lines = (await onHost('rpc-1', 'cat /tmp/reads')).split('\n');
  return { all: lines.length, failed: lines.filter((line) => line === 'failed').length };
}

/**
 * Blocks that the replica lacks, by hundred looks. The replica is asked first, so the figures are
 * too high rather than too low.
 */
async function lags(): Promise<number[]> {
  const newest = 'select coalesce(max(block_num), 0) from state.l2block';
  const found: number[] = [];
  for (let i = 0; i < 100; i += 1) {
    const behind = Number(await sql('rpc-2', newest));
    found.push(Number(await sql('db-1', newest)) - behind);
    await sleep(300);
  }
  return found.sort((a, b) => a - b);
}

describe('a switch of the Database+Sync server', () => {
  test('a deploy of the changed inventory refuses, and so does a switch to another server; nothing is touched', async () => {
    const before = await Promise.all((['db-1', 'rpc-1', 'rpc-2'] as const).map(started));
    const deploy = await runPlaybook('deploy', '--inventory', await servedBy('rpc-2'), '--yes');
    expect(deploy.exitCode, deploy.output).toBe(1);
    expect(deploy.output).toContain('the container sync is running');
    const wrong = await runPlaybook(
      'switch',
      '--inventory',
      await servedBy('rpc-2'),
      '--to',
      'db-1',
      '--yes',
    );
    expect(wrong.exitCode, wrong.output).toBe(3);
    expect(wrong.output).toContain('--to: lab-changed has no host "db-1" in group database');
    expect(await Promise.all((['db-1', 'rpc-1', 'rpc-2'] as const).map(started))).toEqual(before);
  });

  test('a replica is at most a block behind', async ({ task }) => {
    const found = await lags();
    const at = (share: number) => found[Math.ceil(share * found.length) - 1];
    measured(task, `p50 ${at(0.5)}, p99 ${at(0.99)} blocks`);
    expect(at(0.99)).toBeLessThanOrEqual(1);
  });

  test('the plan shows what ends and what begins, and changes nothing', async () => {
    const before = await Promise.all((['db-1', 'rpc-1', 'rpc-2'] as const).map(started));
    const { exitCode, output } = await switchTo('rpc-2', '--check');
    expect(exitCode, output).toBe(2);
    expect(output).toContain('docker stop --time 120 sync');
    expect(output).toMatch(/rpc-2 +unknown +switch-to: state-db accepts writes +\(until the former server/);
    expect(await Promise.all((['db-1', 'rpc-1', 'rpc-2'] as const).map(started))).toEqual(before);
  });

  test('reads go on but for the restart of json-rpc, and the synchronizer pauses for a short time', async ({
    task,
  }) => {
    const hash = async () =>
      ((await rpc('rpc-1', 'eth_getBlockByNumber', ['0x100', false])) as { hash: string }).hash;
    const before = await hash();
    const end = watchWriters();
    let run: Ended | undefined;
    const reads = await readsDuring(async () => {
      run = await switchTo('rpc-2');
    });
    const seen = await end();
    measured(
      task,
      `${reads.failed} of ${reads.all} reads failed, one RPC server, no gateway; no synchronizer for ${seen.pause.toFixed(0)} s; at most ${seen.sync} synchronizer, ${seen.writes} server that accepts writes`,
    );
    expectConverged(run as Ended);
    expect(seen).toMatchObject({ sync: 1, writes: 1 });
    // Without gateways nobody answers while json-rpc starts again, for the other server.
    expect(reads.failed).toBeLessThan(20);
    expect(await hash()).toBe(before);
    const height = await blockNumber('rpc-1');
    await until(async () => (await blockNumber('rpc-1')) > height, true);
    expect(await sql('db-1', 'select pg_is_in_recovery()')).toBe('t');
  });

  test('a deploy has nothing left to do', async () => {
    const check = await runPlaybook('deploy', '--inventory', await servedBy('rpc-2'), '--check');
    expectConverged(check);
  });

  test('the former server is a replica after a reboot, too', async () => {
    await $({ quiet: true })`docker restart rpc-lab-db-1`;
    await until(() => sql('db-1', 'select pg_is_in_recovery()').catch(() => 'off'), 't');
    await until(
      () => sql('rpc-2', "select count(*) from pg_stat_replication where state = 'streaming'"),
      '1',
    );
    expect(await writers()).toEqual({ sync: 1, writes: 1 });
  });

  test('killed at its boundaries, the next run goes on: never two synchronizers, never two servers that accept writes', async ({
    task,
  }) => {
    const end = watchWriters();
    const moments = [
      /changed +switch-from: sync, prover and pool-db of the former server are removed/,
      /changed +switch-from: the former server is a replica/,
      /changed +switch-to: state-db accepts writes/,
      /changed +sync: sync is running/,
      /changed +replica: state-db follows/,
    ];
    let killed = 0;
    const inventory = await servedBy('db-1');
    for (const moment of moments) {
      const run = startPlaybook('switch', '--inventory', inventory, '--to', 'db-1', '--yes', '--break-lock');
      let ended = false;
      void run.ended.then(() => (ended = true));
      while (!ended && !moment.test(run.output())) await sleep(10);
      if (!ended) killed += 1;
      run.child.kill('SIGKILL');
      await run.ended;
    }
    expectConverged(await switchTo('db-1', '--break-lock'));
    const seen = await end();
    measured(
      task,
      `${killed} runs killed; at most ${seen.sync} synchronizer, ${seen.writes} server that accepts writes`,
    );
    expect(killed).toBeGreaterThan(2);
    expect(seen).toMatchObject({ sync: 1, writes: 1 });
    expectConverged(await runPlaybook('deploy', '--inventory', inventory, '--check'));
  });

  test('a dead server is named, and its replica becomes the server', async ({ task }) => {
    // Its RPC server cannot read a dead replica.
    const alone = await servedBy('rpc-2', { 'groups.rpc.rpc-1.vars': { replica: { use: 'none' } } });
    const unplanned = ['--inventory', alone, '--to', 'rpc-2', '--yes', '--limit', '!db-1'];
    const named = [...unplanned, '--assume-stopped', 'db-1'];
    await onHost('db-1', 'docker kill sync prover pool-db state-db >/dev/null');
    await $({ quiet: true })`docker stop rpc-lab-db-1`;
    try {
      const refused = await runPlaybook('switch', ...unplanned);
      expect(refused.exitCode, refused.output).toBe(1);
      expect(refused.output).toContain('--assume-stopped db-1');
      const start = performance.now();
      expectConverged(await runPlaybook('switch', ...named));
      measured(task, `${Math.round((performance.now() - start) / 1000)} s`);
      const height = await blockNumber('rpc-1');
      await until(async () => (await blockNumber('rpc-1')) > height, true);
    } finally {
      await $({ quiet: true })`docker start rpc-lab-db-1`;
    }
    // It comes back with data of another history, and is neither started nor followed.
    await until(() => onHost('db-1', 'docker info >/dev/null 2>&1 && echo up || echo down'), 'up');
    const back = await switchTo('rpc-2');
    expect(back.exitCode, back.output).toBe(1);
    expect(back.output).toContain('it accepts writes, and so does the former server');
    const deploy = await runPlaybook('deploy', '--inventory', await servedBy('rpc-2'), '--yes');
    expect(deploy.exitCode, deploy.output).toBe(1);
    expect(deploy.output).toContain('it holds data that is not of a replica');
    await onHost('db-1', 'docker rm -f sync prover pool-db state-db >/dev/null; rm -r /data/state-db');
    expectConverged(await runPlaybook('deploy', '--inventory', await servedBy('rpc-2'), '--yes'));
    expectConverged(await switchTo('db-1'));
  });
});
