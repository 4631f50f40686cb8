import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { $ } from 'zx';
import { labUp } from '../../lab/up.mjs';
import { measured } from '../faults/measured.ts';
import { labHosts, onHost, rpc, started } from './lab-host.ts';
import { runPlaybook } from './playbook.ts';

beforeAll(async () => {
  await labUp({ log: console.error });
  const run = await runPlaybook('deploy', '--inventory', 'lab');
  expect(run.exitCode, run.output).toBe(0);
});

afterAll(() => onHost('db-1', 'docker start state-db pool-db prover sync >/dev/null'));

const block = async () => Number(await rpc('rpc-1', 'eth_blockNumber'));

/**
 * Asks rpc-1 for its newest block, ten times a second, until it is stopped.
 *
 * @returns how many requests were sent, and have failed
 */
function askAlways(): () => Promise<{ readonly sent: number; readonly failed: number }> {
  const ask = `f=/run/asked; rm -f $f; : > $f.on
    while [ -e $f.on ]; do
      if curl -sS -m 5 -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}' http://127.0.0.1:8123/ | grep -q '"result":"0x'
      then echo ok; else echo failed; fi >> $f
      sleep 0.1
    done`;
  const asking = onHost('rpc-1', ask);
  return async () => {
    await onHost('rpc-1', 'rm /run/asked.on');
    await asking;
    const answers = (await onHost('rpc-1', 'cat /run/asked')).split('\n');
    return { sent: answers.length, failed: answers.filter((answer) => answer !== 'ok').length };
  };
}

async function blocksAreMade(): Promise<void> {
  // After a restart json-rpc may not answer yet.
  await expect
    .poll(() => block().catch(() => Number.NaN), { timeout: 120_000, interval: 1000 })
    .toBeGreaterThan(0);
  const before = await block();
  await expect
    .poll(() => block().catch(() => 0), { timeout: 120_000, interval: 1000 })
    .toBeGreaterThan(before);
}

describe('The Docker engine is killed', () => {
  test('with SIGKILL, five times in half a minute, on the Database+Sync server of a deployment', async ({
    task,
  }) => {
    const before = await started('db-1');
    const stop = askAlways();
    for (let kills = 0; kills < 5; kills += 1) {
      await onHost(
        'db-1',
        'kill -KILL $(pidof dockerd); sleep 3; until docker info >/dev/null 2>&1; do sleep 0.5; done',
      );
    }
    await blocksAreMade();
    const { sent, failed } = await stop();
    expect(await started('db-1')).toBe(before);
    expect(failed).toBe(0);
    expect(sent).toBeGreaterThan(50);
    measured(task, `no container ended; ${sent} JSON-RPC requests, ${failed} failed`);
  });

  test('with SIGKILL, on all servers of a deployment at once', async ({ task }) => {
    const before = await Promise.all(labHosts.map(started));
    await Promise.all(labHosts.map((host) => onHost(host, 'kill -KILL $(pidof dockerd)')));
    await Promise.all(
      labHosts.map((host) => onHost(host, 'until docker info >/dev/null 2>&1; do sleep 0.5; done')),
    );
    await blocksAreMade();
    expect(await Promise.all(labHosts.map(started))).toEqual(before);
    const check = await runPlaybook('deploy', '--inventory', 'lab', '--check');
    expect(check.exitCode, check.output).toBe(0);
    measured(task, 'no container ended, and nothing to change');
  });

  test('the Database+Sync server restarts: all comes back without an operator', async ({ task }) => {
    const since = await onHost(
      'db-1',
      'docker stop prover >/dev/null; docker start prover >/dev/null; date +%FT%T.%NZ',
    );
    await $({ quiet: true })`docker restart --time 150 rpc-lab-db-1`;
    const begin = performance.now();
    await labUp({ log: console.error });
    await blocksAreMade();
    const seconds = Math.round((performance.now() - begin) / 1000);
    for (const database of ['state-db', 'pool-db']) {
      const log = await onHost('db-1', `docker logs --since ${since} ${database} 2>&1`);
      expect(log).toContain('database system was shut down');
      expect(log).not.toContain('was interrupted');
    }
    measured(task, `new blocks after ${seconds} s; both databases were shut down and needed no recovery`);
  });
});
