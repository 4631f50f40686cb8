import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { $ } from 'zx';
import { onHost } from '../../deploy/lab-host.ts';
import { runPlaybook, startPlaybook } from '../../deploy/playbook.ts';
import { clientAddresses, fleetOf, type Seen, startLoad } from '../fleet-load.ts';
import { quantile } from '../gateway-load.ts';
import { putLabFirst } from '../lab-first.ts';
import { measured } from '../measured.ts';
import { processorShare } from '../processor-share.ts';

// The larger lab: inventory/lab-fleet.yaml, four RPC servers behind two gateways.

/** Requests a second of the trials that are not of the load. */
const rate = 50;
const rpc = ['rpc-1', 'rpc-2', 'rpc-3', 'rpc-4'] as const;
const deploy = ['--inventory', 'lab-fleet', '--yes', '--set', 'gateway.drain_seconds=3'];
const quiet = $({ quiet: true, nothrow: true } as object);
const outside = (what: string) => quiet`curl -sS -f -X POST http://172.30.77.10:8090/control/${what}`;
let addresses: string[];
let removeAddresses: (() => Promise<void>) | undefined;
let letControllerBeFirst: (() => void) | undefined;
let limit = 5000;

/** A setting that json-rpc reads at its start. */
const changed = () => {
  limit += 1;
  return ['--set', `node_config.RPC.MaxRequestsPerIPAndSecond=${limit}`];
};

/** json-rpc answers nobody, also not the installation check, which gives up early here. */
const bad = ['node_config.RPC.WriteTimeout=1ns', 'verify.attempts=3'].flatMap((setting) => [
  '--set',
  setting,
]);

const starts = () =>
  Promise.all(rpc.map((host) => onHost(host, "docker inspect --format '{{.State.StartedAt}}' json-rpc")));

const configurations = () =>
  Promise.all(rpc.map((host) => onHost(host, 'cat /opt/rpc-node/node.config.toml')));

/** RPC hosts that a gateway has drained, and why. */
async function drained(): Promise<string[]> {
  const fleets = await Promise.all(['172.30.77.21', '172.30.77.22'].map(fleetOf));
  return fleets.flatMap(({ hosts }) =>
    hosts.flatMap(({ host, drained: why }) => (why ? [`${host}: ${why}`] : [])),
  );
}

async function allServe(): Promise<void> {
  for (let left = 120; left > 0; left -= 1) {
    const fleets = await Promise.all(['172.30.77.21', '172.30.77.22'].map(fleetOf)).catch(() => []);
    if (
      fleets.length > 0 &&
      fleets.every(({ hosts }) => hosts.length === 4 && hosts.every(({ serves }) => serves))
    )
      return;
    await sleep(1000);
  }
  throw new Error('not all RPC hosts serve');
}

function expectNoFault(seen: Seen): void {
  expect(seen.failed.slice(0, 20)).toEqual([]);
  expect(seen.lower).toEqual([]);
}

const figures = (seen: Seen) =>
  `${seen.requests} requests, ${seen.failed.length} failed; at least ${seen.fewest} of 4 serve, at most ${seen.mostDrained} out for a change; at most ${Math.max(0, ...seen.reconnects)} reconnects of ${seen.reconnects.length} WebSockets; ${seen.lower.length} heights go back`;

beforeAll(async () => {
  const { exitCode, output } = await runPlaybook('deploy', ...deploy);
  expect(exitCode, output).toBe(0);
  ({ addresses, remove: removeAddresses } = await clientAddresses(1000));
  letControllerBeFirst = putLabFirst();
});
afterAll(() => {
  letControllerBeFirst?.();
  return removeAddresses?.();
});
afterEach(allServe);

describe('rolling changes of a fleet under load', () => {
  test.for([50, 200, 400])(
    'a deploy that restarts every json-rpc, under %i requests a second',
    async (many, { task }) => {
      const before = await starts();
      const load = startLoad({ addresses: addresses.slice(0, 100), rate: many, webSockets: 50 });
      await sleep(5000);
      const [begin, share] = [performance.now(), processorShare()];
      // The servers share two processors, so one at a time is checked.
      const { exitCode, output } = await runPlaybook('deploy', ...deploy, ...changed(), '--forks', '1');
      const [busy, end] = [share(), performance.now()];
      await sleep(3000);
      const seen = await load.end();
      const at = (which: number) =>
        `p${which * 100} ${quantile(seen, which, begin, end)} (${quantile(seen, which, 0, begin)} before)`;
      measured(task, `${figures(seen)}; ${at(0.5)}, ${at(0.99)}; ${busy}`);
      expect(exitCode, output).toBe(0);
      expect((await starts()).filter((start, at) => start === before[at])).toEqual([]);
      expectNoFault(seen);
      expect(seen.fewest, JSON.stringify([...seen.out])).toBe(3);
      expect(Math.max(...seen.reconnects)).toBeLessThanOrEqual(1);
      expect(await drained()).toEqual([]);
    },
  );

  test('the heights that 1000 clients see, over a rolling deploy and a lagging host', async ({ task }) => {
    const load = startLoad({ addresses, rate, webSockets: 0 });
    await sleep(5000);
    const { exitCode, output } = await runPlaybook('deploy', ...deploy, ...changed());
    await onHost('rpc-3', 'docker pause json-rpc');
    await sleep(8000);
    await onHost('rpc-3', 'docker unpause json-rpc');
    await sleep(8000);
    const seen = await load.end();
    measured(task, figures(seen));
    expect(exitCode, output).toBe(0);
    expect(seen.lower).toEqual([]);
  });

  test('an RPC host loses its power', async ({ task }) => {
    const load = startLoad({ addresses: addresses.slice(0, 100), rate, webSockets: 50 });
    await sleep(5000);
    const at = performance.now();
    const before = load.seen.requests;
    await quiet`docker kill rpc-lab-rpc-2`;
    let out: number | undefined;
    while (out === undefined && performance.now() - at < 15_000) {
      await sleep(100);
      const fleets = await Promise.all(['172.30.77.21', '172.30.77.22'].map(fleetOf));
      if (fleets.every(({ hosts }) => hosts.some(({ host, serves }) => host === 'rpc-2' && !serves)))
        out = (performance.now() - at) / 1000;
    }
    await sleep(5000);
    const seen = await load.end();
    await quiet`docker start rpc-lab-rpc-2`;
    measured(task, `out after ${out?.toFixed(1)} s; ${figures(seen)}`);
    expect(out).toBeLessThan(5);
    expect(seen.requests).toBeGreaterThan(before);
    expect(seen.lower).toEqual([]);
    // Those that were in flight on it: at most one of each client.
    expect(seen.failed.length).toBeLessThanOrEqual(100);
  });

  test('a chain that stalls for 5 minutes takes nobody out', async ({ task }) => {
    const load = startLoad({ addresses: addresses.slice(0, 20), rate: 20, webSockets: 0 });
    await outside('sequencer/hold');
    await sleep(300_000);
    const seen = await load.end();
    await outside('sequencer/release');
    measured(task, figures(seen));
    expectNoFault(seen);
    expect(seen.fewest).toBe(4);
  });

  test('a bad configuration stops the deploy after the first host, and the next run repairs it', async ({
    task,
  }) => {
    const before = await starts();
    const { exitCode, output } = await runPlaybook('deploy', ...deploy, ...bad);
    measured(task, `exit code ${exitCode}`);
    expect(exitCode, output).toBe(1);
    expect(output).toContain('a failure in the first batch ends the run');
    expect((await starts()).filter((start, at) => start !== before[at]).length).toBe(1);
    const again = await runPlaybook('deploy', ...deploy);
    expect(again.exitCode, again.output).toBe(0);
    expect(await drained()).toEqual([]);
  });

  test('with rollback: auto, the first host gets its release back after a bad configuration', async ({
    task,
  }) => {
    const before = await starts();
    const configured = await configurations();
    const load = startLoad({ addresses: addresses.slice(0, 50), rate, webSockets: 10 });
    const back = ['--set', 'gateway.rollback=auto'];
    const { exitCode, output } = await runPlaybook('deploy', ...deploy, ...bad, ...back);
    const seen = await load.end();
    measured(task, `exit code ${exitCode}; ${figures(seen)}`);
    expect(exitCode, output).toBe(1);
    expect(output).toContain('a failure in the first batch ends the run');
    expect((await starts()).filter((start, at) => start !== before[at]).length).toBe(1);
    expect(await drained(), output).toEqual([]);
    expectNoFault(seen);
    expect(seen.mostDrained).toBe(1);
    expect(await configurations()).toEqual(configured);
  });

  test('the controller is killed during a turn: the next run finishes it', async ({ task }) => {
    const options = [...deploy, ...changed()];
    const load = startLoad({ addresses: addresses.slice(0, 50), rate, webSockets: 10 });
    const run = startPlaybook('deploy', ...options);
    while ((await drained()).length === 0) await sleep(200);
    run.child.kill('SIGKILL');
    await run.ended;
    await sleep(3000);
    const left = await drained();
    const { exitCode, output } = await runPlaybook('deploy', ...options);
    const seen = await load.end();
    measured(task, `left out: ${left.length > 0 ? left[0] : 'nobody'}; ${figures(seen)}`);
    expect(left.length).toBeGreaterThan(0);
    expect(exitCode, output).toBe(0);
    expect(await drained()).toEqual([]);
    expectNoFault(seen);
  });

  test('Ctrl-C during a turn: nobody stays out', async ({ task }) => {
    const run = startPlaybook('deploy', ...deploy, ...changed());
    while ((await drained()).length === 0) await sleep(100);
    run.child.kill('SIGINT');
    const { exitCode, output } = await run.ended;
    measured(task, `exit code ${exitCode}`);
    expect(exitCode, output).toBe(130);
    // The gateways see it in their next round.
    await expect.poll(drained, { timeout: 5000 }).toEqual([]);
  });

  test('a gateway of two is killed: the address moves', async ({ task }) => {
    const holder = (await onHost('gw-1', 'ip -o addr show eth0')).includes('172.30.77.20/') ? 'gw-1' : 'gw-2';
    const load = startLoad({ addresses: addresses.slice(0, 20), rate, webSockets: 0 });
    await sleep(2000);
    const at = performance.now();
    await quiet`docker kill rpc-lab-${holder}`;
    const other = holder === 'gw-1' ? 'gw-2' : 'gw-1';
    while (!(await onHost(other, 'ip -o addr show eth0')).includes('172.30.77.20/')) await sleep(50);
    const seconds = (performance.now() - at) / 1000;
    await sleep(3000);
    const seen = await load.end();
    await quiet`docker start rpc-lab-${holder}`;
    measured(
      task,
      `after ${seconds.toFixed(1)} s; ${seen.failed.length} of ${seen.requests} requests failed`,
    );
    expect(seconds).toBeLessThan(3);
    expect(seen.lower).toEqual([]);
  });

  test('restart and drain change one host at a time without a failed request', async ({ task }) => {
    const load = startLoad({ addresses: addresses.slice(0, 50), rate, webSockets: 10 });
    const common = ['--inventory', 'lab-fleet', '--yes'];
    const restarted = await runPlaybook(
      'restart',
      ...common,
      '--component',
      'json-rpc',
      '--limit',
      'rpc-1,rpc-2',
    );
    const out = await runPlaybook('drain', ...common, '--host', 'rpc-3', '--reason', 'new disk');
    const reasons = await drained();
    const back = await runPlaybook('drain', ...common, '--host', 'rpc-3', '--undo');
    const seen = await load.end();
    measured(task, figures(seen));
    expect(
      [restarted.exitCode, out.exitCode, back.exitCode],
      restarted.output + out.output + back.output,
    ).toEqual([0, 0, 0]);
    expect(reasons).toEqual(['rpc-3: new disk', 'rpc-3: new disk']);
    expectNoFault(seen);
    expect(seen.fewest).toBe(3);
  });
});
