import { once } from 'node:events';
import { expect, test } from 'vitest';
import { parseCommandLine } from '../../engine/command-line/command-line.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { Secret } from '../../engine/secret/secret.ts';
import type { HostStatus } from '../../node/status/host.ts';
import type { Expected } from '../../node/status/judge.ts';
import type { HostState } from '../../node/status/read.ts';
import { labDeployment } from '../../node/testing/lab-deployment.ts';
import { run as statusCommand, statusOptions, statusOptionsOf } from './command.ts';
import { type Shown, statusLines } from './lines.ts';

const now = 1_700_000_000;
const head = (block: number) =>
  ({
    ok: true,
    value: { block, hash: '0xabc', made: now - 2, batch: 426 },
  }) as const;
const up = {
  image: '10.0.0.1:5000/node:v3.1.0',
  imageId: 'sha256:1',
  status: 'running',
  health: undefined,
  exitCode: 0,
  restarts: 0,
  since: now - 7500,
  made: now - 7500,
  configHash: 'a',
};
const state: HostState = {
  at: now,
  docker: 'active',
  containers: {
    'state-db': undefined,
    'pool-db': undefined,
    prover: undefined,
    sync: undefined,
    'json-rpc': up,
  },
  otherCollations: [],
  otherSynchronizer: undefined,
  chain: {
    from: 'json-rpc',
    by: 'json-rpc',
    own: head(4252),
    trusted: head(4252),
    comparison: {
      ok: true,
      value: { height: 4252, same: true, here: '0xabc', there: '0xabc', missingSince: undefined },
    },
  },
  log: undefined,
  disks: [{ mount: '/data', size: 2 * 1024 ** 3, used: 1024 ** 3, available: 1024 ** 3, usedPercent: 50 }],
  missing: [],
  clock: { offController: 0, offServer: 0.0003, server: '10.0.0.9', fault: undefined },
};

const wanted = { image: up.image, configHash: 'a' };
const expected: Expected = {
  services: {
    'state-db': undefined,
    'pool-db': undefined,
    prover: undefined,
    sync: undefined,
    'json-rpc': wanted,
  },
  diskWarnPercent: 85,
};

function healthy(host: string): Shown {
  return {
    host,
    groups: ['rpc'],
    health: 'healthy',
    at: now * 1000,
    seconds: 0.1,
    error: undefined,
    state,
    standing: 'caught-up',
    behind: 0,
    findings: [],
    generation: 'current',
    expected,
    lastRun: undefined,
  };
}

const says = 'disk: /data is 91% full (alert from 85%)';
const full = { is: 'full', about: 'disk', fault: true, usedPercent: 91, says } as const;
const unhealthy = (host: string): Shown => ({ ...healthy(host), health: 'unhealthy', findings: [full] });
const unreachable = (host: string): Shown => ({
  ...healthy(host),
  health: 'unreachable',
  state: undefined,
  standing: 'unknown',
  behind: undefined,
  error: new Error(`${host}: no answer within 20 s`),
});

const plain = { paint: (_: unknown, text: string) => text, now: now * 1000 };

test('a host is described in aligned columns', () => {
  const lastRun = {
    playbook: 'deploy',
    time: '2023-11-14T22:10:00.000Z',
    ended: 'converged',
    changed: 3,
  } as const;
  expect(statusLines([{ ...unhealthy('rpc-1'), lastRun }], plain)).toEqual([
    'rpc-1  unhealthy, block 4,252, caught up',
    '  disk: /data is 91% full (alert from 85%)',
    '    blocks      4,252, batch 426, made 2.0 s ago (json-rpc); trusted sequencer 4,252, batch 426; level; same hash at 4,252',
    '    containers  json-rpc up 2 h 05 min',
    '    versions    node v3.1.0, as the inventory says (generation current)',
    '    disks       /data 50% of 2.0 GiB (alert from 85%)',
    '    clock       300 µs ahead of the time server 10.0.0.9',
    '    last run    deploy converged, 3 changed, 3 min 20 s ago (2023-11-14T22:10:00.000Z)',
    '',
    '1 host: 1 unhealthy',
  ]);
});

test('the worst host is first, otherwise hosts are in the order of the inventory', () => {
  const noted = { ...healthy('noted'), findings: [{ ...full, fault: false }] };
  const hosts = [healthy('a'), noted, unhealthy('b'), unreachable('c'), unhealthy('d')];
  const names = statusLines(hosts, plain).flatMap(
    (line) => /^(\w+) +(?:un)?(?:healthy|reachable)/.exec(line)?.[1] ?? [],
  );
  expect(names).toEqual(['c', 'b', 'd', 'noted', 'a']);
});

test('output is shortened to the terminal: healthy hosts first, never the count', () => {
  const hosts = [healthy('a'), healthy('b'), unhealthy('c')];
  const roomy = statusLines(hosts, { ...plain, height: 12 });
  expect(roomy.filter((line) => /^[abc] /.test(line))).toHaveLength(3);
  expect(roomy.at(-1)).toBe('3 hosts: 2 healthy, 1 unhealthy');
  const tight = statusLines(hosts, { ...plain, height: 5, width: 20 });
  expect(tight).toHaveLength(5);
  expect(tight.at(-2)).toMatch(/^… \d+ more lines$/);
  for (const line of tight.slice(0, -2)) expect(line.length).toBeLessThanOrEqual(20);
});

test('no text of a host controls the terminal, and no secret is shown', () => {
  const secret = new Secret('correct-horse-battery');
  const words = `\u001b]0;title\u0007 ${secret.reveal()}\nand more`;
  const halted = { is: 'halted', about: 'sync', fault: true, says: `sync: halted: ${words}` } as const;
  const lines = statusLines(
    [
      { ...unhealthy('h'), findings: [halted] },
      { ...unreachable('i'), error: new Error(words) },
    ],
    plain,
  );
  for (const line of lines) expect(line).not.toMatch(/\p{Cc}|correct-horse/u);
});

test('what to do about a host that is not reached has lines of its own, to be copied', () => {
  const error = new Problem('i: its host key is not known', { hint: 'compare it, then\n  ssh-keyscan i' });
  expect(statusLines([{ ...unreachable('i'), error }], plain).slice(0, 3)).toEqual([
    'i  unreachable: its host key is not known',
    '    compare it, then',
    '    ssh-keyscan i',
  ]);
});

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly complained: readonly string[];
}

/** The result of a check that Ctrl-C interrupts. */
const cutShort = Symbol('cut short');

/** Runs the command over the lab's inventory with the given hosts; all others are healthy. */
async function run(
  args: readonly string[],
  statuses: Readonly<Record<string, HostStatus>> = {},
  look: (host: string) => Promise<unknown> = async () => {},
  terminal = false,
): Promise<Ended> {
  const complained: string[] = [];
  let output = '';
  const code = await statusCommand(args, {
    watch: async ({ host: { name } }) => ({
      name,
      look: async () => {
        if ((await look(name)) === cutShort) return undefined;
        return statuses[name] ?? healthy(name);
      },
      close: async () => {},
    }),
    runs: temporaryDirectory(),
    output: {
      write: (text: string | Uint8Array) => {
        output += text;
        return true;
      },
      isTTY: terminal as never,
      columns: 80,
      rows: 24,
    },
    say: (text) => {
      output += text;
    },
    complain: (line) => complained.push(line),
  });
  return { code, output, complained };
}

test.each<[string, Readonly<Record<string, HostStatus>>, number]>([
  ['healthy', {}, 0],
  ['one unhealthy', { 'rpc-1': unhealthy('rpc-1') }, 1],
  ['one unreachable', { 'rpc-1': unreachable('rpc-1') }, 4],
  [
    'one of each: what is wrong outweighs what is not known',
    { 'db-1': unhealthy('db-1'), 'rpc-1': unreachable('rpc-1') },
    1,
  ],
])('the exit code is that of the worst host: %s', async (_, statuses, code) => {
  const ended = await run(['--inventory', await labDeployment()], statuses);
  expect(ended).toMatchObject({ code, complained: [] });
  for (const host of ['db-1', 'rpc-1', 'rpc-2']) expect(ended.output).toMatch(new RegExp(`^${host}  `, 'm'));
});

test('--json is one document, in the order of the inventory', async () => {
  const ended = await run(['--inventory', await labDeployment(), '--json'], {
    'rpc-1': unhealthy('rpc-1'),
    'rpc-2': unreachable('rpc-2'),
  });
  expect(ended.output.trimEnd()).not.toContain('\n');
  expect(JSON.parse(ended.output)).toMatchObject({
    format: 1,
    inventory: 'lab',
    health: 'unhealthy',
    hosts: [
      {
        host: 'db-1',
        health: 'healthy',
        findings: [],
        containers: {
          'json-rpc': { status: 'running', wantedImage: up.image, since: '2023-11-14T20:08:20.000Z' },
          sync: null,
        },
        chain: {
          own: { block: 4252, batch: 426, made: '2023-11-14T22:13:18.000Z' },
          standing: 'caught-up',
          behind: 0,
        },
      },
      {
        host: 'rpc-1',
        findings: [{ is: 'full', fault: true, says: 'disk: /data is 91% full (alert from 85%)' }],
      },
      { host: 'rpc-2', health: 'unreachable', error: 'rpc-2: no answer within 20 s' },
    ],
  });
});

test('--limit checks only these hosts', async () => {
  const ended = await run(['--inventory', await labDeployment(), '--limit', 'rpc-1'], {
    'rpc-2': unhealthy('rpc-2'),
  });
  expect(ended.code).toBe(0);
  expect(ended.output).not.toContain('rpc-2');
});

test('at most --forks hosts are checked at once', async () => {
  let atOnce = 0;
  let most = 0;
  await run(['--inventory', await labDeployment(), '--forks', '2'], {}, async () => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await new Promise((resolve) => setTimeout(resolve, 5));
    atOnce -= 1;
  });
  expect(most).toBe(2);
});

test('--watch on a terminal does not wait for a slow host, and ends with 130 on Ctrl-C', async () => {
  let looks = 0;
  const slow = once(process, 'SIGTERM');
  const args = ['--inventory', await labDeployment(), '--no-color', '--watch', '--every', '1'];
  const look = async (host: string) => {
    if (host === 'rpc-2') await slow;
    if (host === 'rpc-1' && ++looks === 3) process.emit('SIGTERM');
  };
  const ended = await run(args, {}, look, true);
  expect(ended.code).toBe(130);
  expect(ended.output).toMatch(/\nrpc-1 +healthy/);
  expect(ended.output).toContain('1 not seen yet');
});

/** Arguments that look at one server each second. */
const watchOfRpc1 = async () => [
  ...['--inventory', await labDeployment(), '--no-color'],
  ...['--watch', '--every', '1', '--limit', 'rpc-1'],
];

test('a check that Ctrl-C interrupts reports nothing about a host: the previous status stays on the terminal', async () => {
  let looks = 0;
  const args = await watchOfRpc1();
  const look = async () => {
    if (++looks < 2) return undefined;
    process.emit('SIGTERM');
    return cutShort;
  };
  const ended = await run(args, { 'rpc-1': unhealthy('rpc-1') }, look, true);
  expect(ended.code).toBe(130);
  const kept = ended.output.split('\u001b[?1049l').at(-1);
  expect(kept).toMatch(/^rpc-1 +unhealthy/m);
  expect(kept).not.toContain('unreachable');
});

test('--watch without a terminal prints each check once', async () => {
  let looks = 0;
  const args = await watchOfRpc1();
  for (const json of [[], ['--json']]) {
    looks = 0;
    const statuses: Record<string, HostStatus> = {};
    const ended = await run([...args, ...json], statuses, async () => {
      looks += 1;
      statuses['rpc-1'] = { ...healthy('rpc-1'), seconds: looks, at: (now + looks) * 1000 };
      if (looks === 2) statuses['rpc-1'] = unhealthy('rpc-1');
      if (looks === 3) process.emit('SIGTERM');
      return looks === 3 ? cutShort : undefined;
    });
    expect(ended.code).toBe(130);
    expect(ended.output).not.toContain('\u001b');
    const printed = json.length > 0 ? /"host":"rpc-1".*?"health":"(\w+)"/g : /^rpc-1 {2}(\w+)/gm;
    expect([...ended.output.matchAll(printed)].map(([, health]) => health)).toEqual(['healthy', 'unhealthy']);
  }
});

test.each([
  [['--wach'], 'unknown option "--wach"\n  did you mean --watch?'],
  [['--every', '3'], '--every goes with --watch\n  add --watch, or leave --every out'],
  [['--stale-after', '5 min'], '--stale-after 5 min: must be a duration, such as 90s, 5m or 1h'],
  [['--stale-after', '0'], '--stale-after 0: must be a duration, such as 90s, 5m or 1h'],
  [['--timeout', '0'], '--timeout 0: must be a whole number from 1 to 3600'],
  [['--inventory', 'nowhere'], expect.stringContaining('nowhere')],
  [['--limit', 'rcp-1'], 'no host or group is called "rcp-1"\n  did you mean rpc-1?'],
])('bad input ends with 3: %j', async (args, message) => {
  const inventory = args.includes('--inventory') ? [] : ['--inventory', await labDeployment()];
  expect(await run([...inventory, ...args])).toEqual({ code: 3, output: '', complained: [message] });
});

test('a missing key file is bad input, and no host is checked', async () => {
  const inventory = await labDeployment([[['ssh', 'known_hosts'], '../.lab/konwn']]);
  const ended = await run(['--inventory', inventory]);
  expect(ended).toMatchObject({ code: 3, output: '' });
  expect(ended.complained[0]).toMatch(/lab\.yaml:\d+:\d+: known_hosts: .*\.lab\/konwn does not exist\n/);
});

test('durations have units', () => {
  const options = (...args: string[]) => statusOptionsOf(parseCommandLine(args, statusOptions).given);
  const read = (text: string) => options('--stale-after', text).limits.staleAfter;
  expect(['90', '90s', '5m', '2h', '1d'].map(read)).toEqual([90, 90, 300, 7200, 86_400]);
  expect(options()).toMatchObject({
    limits: { staleAfter: 300, mostBehind: 20 },
    timeout: 20,
    forks: 25,
    every: 5,
  });
});

test('--help is printed', async () => {
  const ended = await run(['--help']);
  expect(ended.code).toBe(0);
  expect(ended.output).toContain('--stale-after DURATION');
});
