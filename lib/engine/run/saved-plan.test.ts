import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { thisMachine } from '../inventory/testing/this-machine.ts';
import { describeProblem, type Problem } from '../problem/problem.ts';
import { Secret } from '../secret/secret.ts';
import { programVersion } from './lock/lock-holder.ts';
import type { HostPlan, Planned } from './plan.ts';
import { changesOf, loadPlan, makePlan, refuseOtherInventory, refuseStale, savePlan } from './saved-plan.ts';

const inventoryOf = (password = 'correct-horse-battery', port = 80): Inventory<unknown> => ({
  name: 'test',
  file: 'test.yaml',
  hosts: [
    { name: 'h', groups: ['g'], connection: thisMachine, vars: { port, password: new Secret(password) } },
  ],
});
const task = (resource: string, more: Partial<Planned> = {}): Planned => ({
  task: { host: 'h', play: 'p', role: 'r', resource },
  outcome: 'pending',
  differences: [{ what: 'mode', was: '0644', wanted: '0600' }],
  note: undefined,
  error: undefined,
  steps: [{ do: 'run', command: 'chmod 600 f' }],
  predicted: false,
  ...more,
});
const plansOf = (...tasks: Planned[]): HostPlan[] => [{ host: 'h', tasks }];
const origin = {
  playbook: 'deploy',
  inventory: inventoryOf(),
  chosen: { roles: [], skippedRoles: [], set: [], assumedStopped: [], own: {} },
};
const saved = (...tasks: Planned[]) => makePlan(plansOf(...tasks), origin, Date.UTC(2024, 0, 1));
const refusal = (plan: ReturnType<typeof saved>, now: HostPlan[], inventory = inventoryOf()): string => {
  try {
    refuseOtherInventory(plan, inventory);
    refuseStale(plan, inventory, now);
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
};

/** Made once: hashing the passwords is slow by design. */
const pendingPlan = saved(task('a'));

test('a plan keeps which hosts are assumed to be stopped, and an older plan assumes none', async () => {
  const file = join(temporaryDirectory(), 'plan.json');
  const chosen = { ...origin.chosen, assumedStopped: ['h2'] };
  const plan = makePlan([], { ...origin, chosen }, 0);
  const hosts = [{ host: 'h1', tasks: [] }];
  savePlan({ ...plan, hosts }, file);
  expect((await loadPlan(file)).chosen).toEqual(chosen);
  const { assumedStopped: _, ...before } = chosen;
  await writeFile(file, JSON.stringify({ ...plan, hosts, chosen: before }));
  expect((await loadPlan(file)).chosen.assumedStopped).toEqual([]);
});

test('a plan is saved with mode 0600 and without secrets, and read back unchanged', async () => {
  const file = join(temporaryDirectory(), 'plan.json');
  const secret = new Secret('swordfish-of-plans');
  const plan = saved(task('a', { note: `was ${secret.reveal()}` }), task('b', { outcome: 'ok' }));
  savePlan(plan, file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const text = await readFile(file, 'utf8');
  expect(text).not.toMatch(/swordfish|correct-horse/);
  const read = await loadPlan(file);
  expect(read.hosts).toEqual([
    { host: 'h', tasks: [expect.objectContaining({ resource: 'a', note: 'was [secret]' })] },
  ]);
  expect(read.made).toBe('2024-01-01T00:00:00.000Z');
});

test('a plan of the version before is read, and refused with a sentence about the versions', async () => {
  const file = new URL('testdata/plan-fb38ac533be7.json', import.meta.url).pathname;
  const plan = await loadPlan(file);
  expect(plan).toMatchObject({ playbook: 'operators', inventory: { name: 'testnet' } });
  const inventory = { ...inventoryOf(), name: 'testnet' };
  const reads = `and this is ${programVersion()}: it reads the inventory testnet in its own way`;
  const made = `of the program made this plan (2026-11-26T19:00:24.992Z), ${reads}`;
  expect(refusal(plan, [], inventory)).toBe(`an earlier version ${made}`);
  expect(refusal({ ...plan, version: '0.0.9' }, [], inventory)).toBe(`version 0.0.9 ${made}`);
  expect(refusal({ ...plan, version: programVersion() }, [], inventory)).toContain(
    'is not the inventory testnet of the plan',
  );
});

test('a file that is not a plan is reported', async () => {
  const file = join(temporaryDirectory(), 'plan.json');
  await expect(loadPlan(file)).rejects.toThrow(`the plan "${file}" does not exist`);
  for (const text of ['', '{}', '[1', '{"format":1}']) {
    await writeFile(file, text);
    await expect(loadPlan(file)).rejects.toThrow(`${file} is not a plan of this version`);
  }
});

test('a plan is valid as long as the state of the hosts is the same', () => {
  const predicted = task('later', { outcome: 'pending', predicted: true, differences: [] });
  const plan = saved(task('a'), predicted, task('c', { outcome: 'ok' }));
  expect(refusal(plan, plansOf(task('a'), task('c', { outcome: 'ok' })))).toBe('accepted');
});

test.each<[string, Planned[], string]>([
  ['fixed meanwhile', [task('a', { outcome: 'ok' })], 'h: r: a: ok or failing since the plan was made'],
  ['drifted meanwhile', [task('a'), task('b')], 'h: r: b: drifted since the plan was made'],
  [
    'other drift',
    [task('a', { differences: [{ what: 'mode', was: '0666', wanted: '0600' }] })],
    'h: r: a: its differences changed since the plan was made',
  ],
  ['a failure meanwhile', [task('a'), task('m', { outcome: 'failed' })], 'h: r: m: it fails now'],
  [
    'other steps',
    [task('a', { steps: [{ do: 'run', command: 'chmod 666 f' }] })],
    'h: r: a: its steps changed since the plan was made',
  ],
  [
    'known meanwhile',
    [task('a', { outcome: 'unknown' })],
    'h: r: a: its differences changed since the plan was made',
  ],
])('%s: refused, by name', (_, now, expected) => {
  expect(refusal(pendingPlan, plansOf(...now))).toBe(
    `${expected}\nnothing was changed\n  make a new plan: --check --out FILE`,
  );
});

test('a plan is refused if one of its hosts cannot be reached', () => {
  expect(refusal(pendingPlan, [])).toContain('h: it is in the plan, and is unreachable now');
});

test('a changed inventory is refused, a changed password too', () => {
  const plan = pendingPlan;
  expect(refusal(plan, plansOf(task('a')), inventoryOf('correct-horse-battery', 81))).toMatch(
    /^\/\S+\/test\.yaml is not the inventory test of the plan, or has changed since the plan was made \(/,
  );
  expect(refusal(plan, plansOf(task('a')), inventoryOf('another-password'))).toContain('has changed since');
  expect(refusal(plan, [], { ...inventoryOf('another-password'), name: 'other' })).toBe(
    'this is a plan of the inventory test, and other is another one',
  );
});

test('only changes of the plan are made, with the steps of the plan', () => {
  const later = task('d', { predicted: true, steps: undefined });
  const plan = saved(task('a'), task('b', { outcome: 'unknown' }), task('c', { outcome: 'ok' }), later);
  const refuses = changesOf(plan, inventoryOf());
  const steps = (command: string) => [{ do: 'run', command } as const];
  const why = (resource: string, command: string, host = 'h') =>
    refuses({ host, play: 'p', role: 'r', resource }, steps(command));
  expect(why('a', 'chmod 600 f')).toBeUndefined();
  expect(why('a', 'chmod 666 f')).toBe('its steps are not those of the plan');
  expect([why('b', 'any'), why('d', 'any')]).toEqual([undefined, undefined]);
  expect([why('c', 'any'), why('a', 'chmod 600 f', 'other')]).toEqual(
    Array(2).fill('this is not in the plan'),
  );
});

test('steps are saved with all their bytes, and those with a secret by a hash that needs every password', async () => {
  const file = join(temporaryDirectory(), 'plan.json');
  const password = new Secret('swordfish-in-a-step');
  const attributes = { mode: 0o600, owner: 'root', group: 'root' };
  const steps = (secret: string, binary: Buffer): Planned['steps'] => [
    { do: 'run', command: 'psql', stdin: new Secret(secret), timeoutSeconds: 5, allow: [0, 1] },
    { do: 'write', path: '/f', content: `Password = "${secret}"`, secret: true, attributes },
    { do: 'write', path: '/g', content: binary, secret: false, attributes },
    { do: 'rewrite', path: '/h', was: 'aa', content: `key ${password.reveal()}` },
  ];
  const bytes = Buffer.from([0, 255, 10]);
  savePlan(saved(task('a', { steps: steps('old-secret-1', bytes) })), file);
  const text = await readFile(file, 'utf8');
  expect(text).not.toMatch(/swordfish|old-secret|correct-horse/);
  const plan = await loadPlan(file);
  const now = (secret: string, binary = bytes) => plansOf(task('a', { steps: steps(secret, binary) }));
  expect(refusal(plan, now('old-secret-1'))).toBe('accepted');
  expect(refusal(plan, now('new-secret-1'))).toContain('h: r: a: its steps changed since the plan was made');
  expect(refusal(plan, now('old-secret-1', Buffer.from([0, 254, 10])))).toContain('its steps changed');
  // The same content under another password has another hash.
  const other = makePlan(now('old-secret-1'), { ...origin, inventory: inventoryOf('other-password') }, 0);
  const hashOf = (each: typeof plan) => JSON.stringify(each.hosts[0]?.tasks[0]?.steps?.[1]);
  expect(hashOf(other)).not.toBe(hashOf(plan));
});

test('a file that is not a plan, or a plan without hosts, is refused with how to make one', async () => {
  const file = join(temporaryDirectory(), 'plan.json');
  const refused = () =>
    loadPlan(file).then(
      () => 'accepted',
      (error: Problem) => describeProblem(error),
    );
  const hint = 'make a new one: --check --out FILE';
  await writeFile(file, '{"format":0}');
  expect(await refused()).toBe(`${file} is not a plan of this version\n  ${hint}`);
  savePlan(makePlan([], origin, 0), file);
  expect(await refused()).toBe(`${file} is a plan without hosts\n  ${hint}`);
});

test('a plan with a secret in the title and the differences of a task is followed from its file', async () => {
  const file = join(temporaryDirectory(), 'plan.json');
  const address = `https://l1.example/${new Secret('Provider-Key-0123').reveal()}`;
  const now = task(`download ${address}`, {
    differences: [{ what: 'source', was: '', wanted: address }],
    steps: [{ do: 'run', command: `curl ${address}` }],
  });
  savePlan(saved(now), file);
  expect(await readFile(file, 'utf8')).not.toContain('Provider-Key');
  const plan = await loadPlan(file);
  expect(refusal(plan, plansOf(now))).toBe('accepted');
  expect(changesOf(plan, inventoryOf())({ ...now.task }, now.steps)).toBeUndefined();
  const other = { ...now, steps: [{ do: 'run', command: `wget ${address}` } as const] };
  expect(refusal(plan, plansOf(other))).toContain('its steps changed');
});
