import { expect, test } from 'vitest';
import type { Reader } from '../host/host.ts';
import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { thisMachine } from '../inventory/testing/this-machine.ts';
import { describeProblem, exitCode, Problem } from '../problem/problem.ts';
import { eventually } from '../resource/job/eventually.ts';
import { pause } from '../resource/job/pause.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  task,
  unknownUntil,
  type Verdict,
  warning,
} from '../resource/resource.ts';
import { type Role, role } from '../resource/role.ts';
import { fakeHost } from '../resource/testing/fake-host.ts';
import { sessionOf } from '../resource/testing/test-host.ts';
import type { RunEvent } from './events.ts';
import { lockLost } from './fleet.ts';
import { play, playbook } from './playbook.ts';
import { run } from './run.ts';
import { exitCodeOf, type RunOptions } from './run-options.ts';

/** These resources check a set in memory, so the connection is never used. */
const session = sessionOf(fakeHost([]));

function inventoryOf(groups: Record<string, readonly string[]>): Inventory<object> {
  const hosts = Object.entries(groups).flatMap(([group, names]) =>
    names.map(
      (name): InventoryHost<object> => ({
        name,
        groups: [group],
        connection: thisMachine,
        vars: {},
      }),
    ),
  );
  return { name: 'test', file: 'test.yaml', hosts };
}

/** A resource that exists once it was made, and is unknown until `needs` exists. */
function thing(made: Set<string>, name: string, needs?: string): Resource {
  return task(name, {
    check: async () => {
      if (needs && !made.has(needs)) return unknownUntil(needs);
      return made.has(name) ? ok : drift(`${name} is missing`);
    },
    work: async () => void made.add(name),
  });
}

async function runWith(
  plays: Parameters<typeof playbook<object>>[2],
  inventory: Inventory<object>,
  options: Partial<RunOptions> & { unreachable?: string; roles?: string[] } = {},
) {
  const events: RunEvent[] = [];
  const result = await run(
    playbook('test', 'tests.', plays),
    inventory,
    async (host) => {
      if (host.name === options.unreachable) throw new Error('no route to host');
      return session;
    },
    {
      check: options.check ?? false,
      forks: 2,
      hosts: options.hosts ?? new Set(inventory.hosts.map((host) => host.name)),
      selects: (name) => options.roles?.includes(name) ?? true,
      interrupt: options.interrupt ?? new AbortController().signal,
      startAt: options.startAt,
      confirm: options.confirm,
      confirmEach: options.confirmEach,
      refuses: options.refuses,
    },
    (event) => events.push(event),
  );
  const outcomes = events.flatMap((e) =>
    e.type === 'resource-done' ? [`${e.task.host} ${e.task.resource} ${e.outcome}`] : [],
  );
  return { result, events, outcomes };
}

test('a role knows what the run includes: hosts by the limit, roles by the options', async () => {
  const inventory = inventoryOf({ db: ['db-1'], rpc: ['rpc-1', 'rpc-2'] });
  const seen: string[] = [];
  const asking = role<object>('asking', ({ host, includes }) => {
    for (const name of ['db-1', 'rpc-2'])
      for (const other of ['asking', 'left-out'])
        if (includes(name, other)) seen.push(`${host.name}: ${name} ${other}`);
    return [];
  });
  await runWith([play('all', { hosts: 'all', roles: [asking] })], inventory, {
    hosts: new Set(['db-1', 'rpc-1']),
    roles: ['asking'],
  });
  expect(seen.sort()).toEqual(['db-1: db-1 asking', 'rpc-1: db-1 asking']);
});

test('a run changes resources that drift, in order, and a second run changes nothing', async () => {
  const made = new Set(['b']);
  const plays = [
    play('all', {
      hosts: 'all',
      roles: [role<object>('r', () => [thing(made, 'a'), thing(made, 'b'), thing(made, 'c', 'a')])],
    }),
  ];
  const first = await runWith(plays, inventoryOf({ one: ['h1'] }));
  expect(first.outcomes).toEqual(['h1 a changed', 'h1 b ok', 'h1 c changed']);
  const second = await runWith(plays, inventoryOf({ one: ['h1'] }));
  expect(second.outcomes).toEqual(['h1 a ok', 'h1 b ok', 'h1 c ok']);
});

test('an optional play of several groups has the hosts of those that there are', async () => {
  const made = new Set<string>();
  const roles = [role<object>('r', ({ host }) => [thing(made, `x of ${host.name}`)])];
  const plays = [play('extra', { hosts: 'a,b,c', roles, optional: true })];
  await runWith(plays, inventoryOf({ a: ['h1'], c: ['h2'], d: ['h3'] }));
  expect([...made]).toEqual(['x of h1', 'x of h2']);
  made.clear();
  await runWith(plays, inventoryOf({ d: ['h3'] }));
  expect([...made]).toEqual([]);
});

test('an optional play does nothing in an inventory without its group, and another pattern has to fit', async () => {
  const made = new Set<string>();
  const roles = [role<object>('r', () => [thing(made, 'a')])];
  const plays = [play('extra', { hosts: 'extra', roles, optional: true })];
  expect((await runWith(plays, inventoryOf({ one: ['h1'] }))).outcomes).toEqual([]);
  expect((await runWith(plays, inventoryOf({ one: ['h1'], extra: ['h2'] }))).outcomes).toEqual([
    'h2 a changed',
  ]);
  await expect(
    runWith([play('extra', { hosts: 'extra', roles })], inventoryOf({ one: ['h1'] })),
  ).rejects.toThrow('no host or group is called "extra"');
});

/** This many missing resources. */
const many = (made: Set<string>, prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => thing(made, `${prefix}${at}`));

test('a host of two groups has a role that both plays have once, in the first of them', async () => {
  const made = new Set<string>();
  const [both, second] = ['both', 'second'].map((name) => role<object>(name, () => [thing(made, name)]));
  if (!both || !second) throw new Error('two roles');
  const host: InventoryHost<object> = { name: 'one', groups: ['a', 'b'], connection: thisMachine, vars: {} };
  const { outcomes } = await runWith(
    [play('first', { hosts: 'a', roles: [both] }), play('then', { hosts: 'b', roles: [both, second] })],
    { name: 'test', file: 'test.yaml', hosts: [host] },
  );
  expect(outcomes).toEqual(['one both changed', 'one second changed']);
});

test('no state is used from before the last change, at any place in the list', async () => {
  const made = new Set(['kept', 'm4']);
  const breaks = task('breaks', {
    check: async () => (made.has('kept') ? drift('it is there') : ok),
    work: async () => void made.delete('kept'),
  });
  const brings: Resource = {
    ...thing(made, 'brings'),
    work: async () => void made.add('brings').add('brought'),
  };
  const all = [
    breaks,
    ...many(made, 'm', 8),
    thing(made, 'kept'),
    brings,
    ...many(made, 'n', 8),
    thing(made, 'brought'),
  ];
  const { outcomes } = await runWith(
    [play('all', { hosts: 'all', roles: [role<object>('r', () => all)] })],
    inventoryOf({ one: ['h1'] }),
  );
  expect(outcomes.filter((outcome) => !/ [mn]\d changed$/.test(outcome))).toEqual([
    'h1 breaks changed',
    'h1 m4 ok',
    'h1 kept changed',
    'h1 brings changed',
    'h1 brought ok',
  ]);
});

test('a first run checks each resource a few times, not once for every change', async () => {
  const made = new Set<string>();
  let looks = 0;
  const counted = many(made, 'm', 100).map((one) => ({
    ...one,
    check: (host: Reader) => {
      looks += 1;
      return one.check(host);
    },
  }));
  await runWith(
    [play('all', { hosts: 'all', roles: [role<object>('r', () => counted)] })],
    inventoryOf({ one: ['h1'] }),
  );
  expect(made.size).toBe(100);
  expect(looks).toBeLessThanOrEqual(500);
});

test('check mode shows what would change and what is unknown, and changes nothing', async () => {
  const made = new Set<string>();
  const plays = [
    play('all', {
      hosts: 'all',
      roles: [role<object>('r', () => [thing(made, 'a'), thing(made, 'c', 'a')])],
    }),
  ];
  const { outcomes } = await runWith(plays, inventoryOf({ one: ['h1'] }), { check: true });
  expect(outcomes).toEqual(['h1 a pending', 'h1 c unknown']);
  expect(made.size).toBe(0);
});

test('a resource that still drifts after its change is a failure with both states', async () => {
  const stubborn = task('stubborn', { check: async () => drift('still bent'), work: async () => {} });
  const { events, outcomes } = await runWith(
    [play('all', { hosts: 'all', roles: [role<object>('r', () => [stubborn])] })],
    inventoryOf({ one: ['h1'] }),
  );
  expect(outcomes).toEqual(['h1 stubborn failed']);
  const failed = events.find((e) => e.type === 'resource-done');
  expect(String(failed?.error)).toMatch(
    /applied but did not converge\n {2}before: still bent\n {2}after: {2}still bent/,
  );
});

test('a condition that is not met during the run is a failure with the missing condition', async () => {
  const { events } = await runWith(
    [
      play('all', {
        hosts: 'all',
        roles: [
          role<object>('r', () => [
            expectation('it is night', {
              check: async () => unknownUntil('the moon is full'),
              hint: 'wait for it',
            }),
          ]),
        ],
      }),
    ],
    inventoryOf({ one: ['h1'] }),
  );
  expect(events.find((e) => e.type === 'resource-done')).toMatchObject({
    outcome: 'failed',
    error: { message: 'unknown until the moon is full, which did not happen', hint: 'wait for it' },
  });
});

/**
 * A resource with these verdicts in turn, then always the last one.
 *
 * @returns it, and how often it was checked
 */
function seenAs(name: string, ...verdicts: Verdict[]) {
  let looks = 0;
  const resource = expectation(name, {
    check: async () => verdicts[Math.min(looks++, verdicts.length - 1)] ?? ok,
  });
  return { resource, looks: () => looks };
}

const oneRole = (...resources: Resource[]) => [
  play('all', { hosts: 'all', roles: [role<object>('r', () => resources)] }),
];

test('a state that was read just before its condition was met, in one batch with it, is read again', async () => {
  const made = new Set<string>();
  // The check after `server` is made reads `rows` first, while the server is starting, and then
  // that it is ready.
  const isStarting = unknownUntil('the server is ready');
  const ready = seenAs('ready', isStarting, ok);
  const rows = seenAs('rows', isStarting, isStarting, ok);
  const last = seenAs('last', ok);
  const { outcomes } = await runWith(
    oneRole(thing(made, 'server'), ready.resource, rows.resource, last.resource),
    inventoryOf({ one: ['h1'] }),
  );
  expect(outcomes).toEqual(['h1 server changed', 'h1 ready ok', 'h1 rows ok', 'h1 last ok']);
  expect([ready.looks(), rows.looks(), last.looks()]).toEqual([2, 3, 3]);
});

test('an unknown state is checked once more before it fails, and a good one only once', async () => {
  const fine = seenAs('fine', ok);
  const moon = seenAs('moon', unknownUntil('the moon is full'));
  const { outcomes } = await runWith(oneRole(fine.resource, moon.resource), inventoryOf({ one: ['h1'] }));
  expect(outcomes).toEqual(['h1 fine ok', 'h1 moon failed']);
  expect([fine.looks(), moon.looks()]).toEqual([1, 2]);
});

test('an unknown state that was checked after the last change is not checked again', async () => {
  const made = new Set<string>();
  const moon = seenAs('moon', unknownUntil('the moon is full'));
  const plays = [
    play('one', { hosts: 'a', roles: [role<object>('r1', () => [thing(made, 'database')])] }),
    play('two', { hosts: 'b', roles: [role<object>('r2', () => [moon.resource])] }),
  ];
  const { outcomes } = await runWith(plays, inventoryOf({ a: ['h1'], b: ['h2'] }));
  expect(outcomes).toEqual(['h1 database changed', 'h2 moon failed']);
  expect(moon.looks()).toBe(2);
});

test('what is ok may have a note, which is of the time after the changes before it', async () => {
  const made = new Set<string>();
  const result = expectation('the result', {
    check: async () => ({ is: 'ok', note: made.has('drill') ? 'passed' : 'none yet' }),
  });
  const playbook = oneRole(thing(made, 'drill'), result);
  const { events } = await runWith(playbook, inventoryOf({ one: ['h1'] }));
  const done = events.flatMap((event) => (event.type === 'resource-done' ? [event] : []));
  expect(done.map(({ outcome, note }) => [outcome, note])).toEqual([
    ['changed', 'drill is missing'],
    ['ok', 'passed'],
  ]);
});

test('a resource that waits also waits while its state is unknown, and reports itself why it fails', async () => {
  const restarting = async () => unknownUntil('sync is running');
  const giveUp = async () => {
    throw new Error('container sync is restarting, exit code 1');
  };
  const { outcomes, events } = await runWith(
    oneRole(eventually('sync stays up', restarting, { seconds: 60, giveUp })),
    inventoryOf({ one: ['h1'] }),
  );
  expect(outcomes).toEqual(['h1 sync stays up failed']);
  expect(events.find((e) => e.type === 'resource-done')).toMatchObject({
    error: { message: 'container sync is restarting, exit code 1' },
  });
});

test('a host that fails stops there, others go on, and a play that needs it is skipped with the reason', async () => {
  const made = new Set<string>();
  const breaks = (host: string) =>
    task('brittle', {
      check: async () => (made.has(`brittle ${host}`) ? ok : drift('missing')),
      work: async () => {
        if (host === 'h1') throw new Error('it broke');
        made.add(`brittle ${host}`);
      },
    });
  const first = role<object>('first', ({ host }) => [breaks(host.name), thing(made, `after ${host.name}`)]);
  const last = role<object>('last', ({ host }) => [thing(made, `last ${host.name}`)]);
  const { outcomes, events, result } = await runWith(
    [
      play('one', { hosts: 'all', roles: [first] }),
      play('two', { hosts: 'b', roles: [last], needs: ['one'] }),
    ],
    inventoryOf({ a: ['h1'], b: ['h2'] }),
  );
  expect(outcomes.sort()).toEqual(['h1 brittle failed', 'h2 after h2 changed', 'h2 brittle changed']);
  const skipped = events.find((e) => e.type === 'play-skipped');
  expect(skipped).toMatchObject({ play: 'two', why: 'it needs "one" (h1: brittle failed)' });
  expect(result.hosts.map((h) => h.stopped)).toEqual(['brittle failed', expect.stringContaining('skipped')]);
});

test('a failure in a play with fatal errors ends the run for all hosts, before later plays', async () => {
  const made = new Set<string>();
  const rule = role<object>('rule', ({ host }) => [
    expectation('it is alone', { check: async () => (host.name === 'h2' ? drift('it is not') : ok) }),
  ]);
  const later = role<object>('later', () => [thing(made, 'a')]);
  const { outcomes, result } = await runWith(
    [
      play('one', { hosts: 'all', roles: [rule], anyErrorsFatal: true }),
      play('two', { hosts: 'all', roles: [later] }),
    ],
    inventoryOf({ a: ['h1', 'h2', 'h3'] }),
  );
  expect(outcomes.toSorted()).toEqual(['h1 it is alone ok', 'h2 it is alone failed', 'h3 it is alone ok']);
  expect(made.size).toBe(0);
  expect(result.hosts.map(({ stopped }) => stopped)).toEqual([
    'stopped on all hosts: h2: it is alone failed',
    'it is alone failed',
    'stopped on all hosts: h2: it is alone failed',
  ]);
});

test('a lock that another run has taken over is reported, and the run stops', () => {
  expect(describeProblem(lockLost(['db-1', 'rpc-1']))).toBe(
    'another run has taken the lock of db-1, rpc-1 away (--break-lock)\n  this run stopped after the running changes; check what the other run does, then run again',
  );
});

test('an unreachable host is named, others go on', async () => {
  const made = new Set<string>();
  const make = role<object>('r', ({ host }) => [thing(made, host.name)]);
  const { outcomes, result } = await runWith(
    [play('all', { hosts: 'all', roles: [make] })],
    inventoryOf({ a: ['h1', 'h2'] }),
    { unreachable: 'h1' },
  );
  expect(outcomes).toEqual(['h2 h2 changed']);
  expect(result.hosts.map((h) => [h.host, h.unreachable])).toEqual([
    ['h1', true],
    ['h2', false],
  ]);
});

test('a failed requirement fails the host, a failed recommendation only warns', async () => {
  const made = new Set<string>();
  const must = expectation('enough memory', { check: async () => drift('2 GB'), hint: 'add memory' });
  const should = expectation('fast disk', { check: async () => drift('slow'), severity: 'should' });
  const { outcomes, events } = await runWith(
    [play('all', { hosts: 'all', roles: [role<object>('r', () => [should, must, thing(made, 'a')])] })],
    inventoryOf({ a: ['h1'] }),
  );
  expect(outcomes).toEqual(['h1 fast disk warning', 'h1 enough memory failed']);
  expect(events.find((e) => e.type === 'resource-done' && e.outcome === 'failed')).toMatchObject({
    error: { hint: 'add memory' },
  });
  expect(made.size).toBe(0);
});

test('a check can say that what it found is a warning, although the requirement fails the host otherwise', async () => {
  const made = new Set<string>();
  const must = expectation('peer answers', { check: async () => warning('away'), hint: 'look there' });
  const plays = [play('all', { hosts: 'all', roles: [role<object>('r', () => [must, thing(made, 'a')])] })];
  const notesOf = (events: readonly RunEvent[]) =>
    events.flatMap((e) => (e.type === 'resource-done' ? [e.note] : []));
  const checked = await runWith(plays, inventoryOf({ a: ['h1'] }), { check: true });
  expect(checked.outcomes[0]).toBe('h1 peer answers warning');
  const ran = await runWith(plays, inventoryOf({ a: ['h1'] }));
  expect(ran.outcomes).toEqual(['h1 peer answers warning', 'h1 a changed']);
  for (const { events } of [checked, ran]) expect(notesOf(events)[0]).toBe('away\nlook there');
});

test('check mode says what to do about a failed expectation, and so does a warning', async () => {
  const must = expectation('enough memory', { check: async () => drift('2 GB'), hint: 'add memory' });
  const should = expectation('fast disk', {
    check: async () => drift('slow'),
    hint: 'use NVMe',
    severity: 'should',
  });
  const plays = [play('all', { hosts: 'all', roles: [role<object>('r', () => [should, must])] })];
  const notesOf = (events: readonly RunEvent[]) =>
    events.flatMap((e) => (e.type === 'resource-done' ? [e.note] : []));
  const checked = await runWith(plays, inventoryOf({ a: ['h1'] }), { check: true });
  expect(notesOf(checked.events)).toEqual(['slow\nuse NVMe', '2 GB\nadd memory']);
  const ran = await runWith(plays, inventoryOf({ a: ['h1'] }));
  expect(notesOf(ran.events)[0]).toBe('slow\nuse NVMe');
});

test('a change of an earlier play is visible to a later one, also on another host', async () => {
  const made = new Set<string>();
  const { outcomes } = await runWith(
    [
      play('one', { hosts: 'a', roles: [role<object>('r1', () => [thing(made, 'database')])] }),
      play('two', { hosts: 'b', roles: [role<object>('r2', () => [thing(made, 'rpc', 'database')])] }),
    ],
    inventoryOf({ a: ['h1'], b: ['h2'] }),
  );
  expect(outcomes).toEqual(['h1 database changed', 'h2 rpc changed']);
});

test('a check that throws is a failure of that resource', async () => {
  const broken = task('broken', {
    check: async () => {
      throw new Error('cannot look');
    },
    work: async () => {},
  });
  const { outcomes } = await runWith(
    [play('all', { hosts: 'all', roles: [role<object>('r', () => [broken])] })],
    inventoryOf({ a: ['h1'] }),
  );
  expect(outcomes).toEqual(['h1 broken failed']);
});

test.each<[made: string, resources: () => unknown, said: string, hint?: string]>([
  ['one resource', () => thing(new Set(), 'a'), 'role own gives no list of resources: write […]'],
  [
    'what is left of a condition',
    () => [thing(new Set(), 'a'), false],
    'entry 2 in the list of role own is no resource',
    'one that is not for every host: ...(condition ? [file(…)] : [])',
  ],
  [
    'an error of the language',
    () => [thing(new Set(), (undefined as unknown as { name: string }).name)],
    "role own cannot make its resources for h1: Cannot read properties of undefined (reading 'name')",
  ],
])(
  "a role of somebody's own that gives %s is named, and nothing is changed",
  async (_, resources, said, hint) => {
    const own = role<object>('own', resources as Role<object>['resources']);
    const plays = [play('all', { hosts: 'all', roles: [own] })];
    const error: Problem = await runWith(plays, inventoryOf({ a: ['h1'] })).then(
      () => Promise.reject(new Error('it ran')),
      (thrown) => thrown,
    );
    expect([error.message, error.hint, error.code]).toEqual([said, hint, exitCode.badInput]);
    expect(error.cause instanceof TypeError).toBe(said.includes('Cannot read'));
  },
);

test('only the chosen roles run', async () => {
  const made = new Set<string>();
  const { outcomes } = await runWith(
    [
      play('all', {
        hosts: 'all',
        roles: [role<object>('r1', () => [thing(made, 'a')]), role<object>('r2', () => [thing(made, 'b')])],
      }),
    ],
    inventoryOf({ a: ['h1'] }),
    { roles: ['r2'] },
  );
  expect(outcomes).toEqual(['h1 b changed']);
});

test('after an interrupt no new change is started', async () => {
  const made = new Set<string>();
  const controller = new AbortController();
  const interrupting = task('interrupting', {
    check: async () => (made.has('i') ? ok : drift('missing')),
    work: async () => {
      made.add('i');
      controller.abort();
    },
  });
  const { outcomes, events, result } = await runWith(
    [play('all', { hosts: 'all', roles: [role<object>('r', () => [interrupting, thing(made, 'a')])] })],
    inventoryOf({ a: ['h1'] }),
    { interrupt: controller.signal },
  );
  expect(outcomes).toEqual(['h1 interrupting changed']);
  expect(events.map(({ type }) => type)).toContain('stopping');
  expect(result).toMatchObject({
    interrupted: true,
    hosts: [{ stopped: 'interrupted', left: 1, next: 'a' }],
  });
});

test('tasks that an interrupt leaves undone are counted for each host, also in later plays', async () => {
  const made = new Set<string>();
  const controller = new AbortController();
  const interrupting = task('interrupting', {
    check: async () => (made.has('i') ? ok : drift('missing')),
    work: async () => {
      made.add('i');
      controller.abort();
    },
  });
  const { events } = await runWith(
    [
      play('one', {
        hosts: 'a',
        roles: [role<object>('r', () => [interrupting, thing(made, 'x'), thing(made, 'y')])],
      }),
      play('two', { hosts: 'b', roles: [role<object>('r', () => [thing(made, 'z')])], needs: ['one'] }),
    ],
    inventoryOf({ a: ['h1'], b: ['h2'] }),
    { interrupt: controller.signal },
  );
  expect(events.filter(({ type }) => type === 'host-stopped' || type.startsWith('play'))).toEqual([
    { type: 'play-started', play: 'one', hosts: ['h1'] },
    { type: 'host-stopped', host: 'h1', play: 'one', why: 'interrupted', left: 2, next: 'x' },
    { type: 'host-stopped', host: 'h2', play: 'two', why: 'interrupted', left: 1, next: 'z' },
  ]);
});

test('an interrupted wait is not a failure: the work goes on on the host', async () => {
  const controller = new AbortController();
  const waiting = task('restored', {
    check: async () => drift('missing'),
    work: async (host) => {
      controller.abort();
      await pause({ ...host, sleep: async () => {} }, 60, 'restore.service goes on on h1');
    },
  });
  const { events, result } = await runWith(
    [play('all', { hosts: 'all', roles: [role<object>('r', () => [waiting, thing(new Set(), 'a')])] })],
    inventoryOf({ g: ['h1'] }),
    { interrupt: controller.signal },
  );
  expect(events.some(({ type }) => type === 'resource-done')).toBe(false);
  expect(result.hosts).toMatchObject([
    {
      stopped: 'interrupted; restore.service goes on on h1',
      left: 2,
      next: 'restored',
      counts: { failed: 0 },
    },
  ]);
});

test('a run that is interrupted during its checks asks nothing and changes nothing', async () => {
  const made = new Set<string>();
  const controller = new AbortController();
  const looking: Resource = {
    ...thing(made, 'a'),
    check: async () => {
      controller.abort();
      return drift('missing');
    },
  };
  const { result, outcomes } = await runWith(
    [play('all', { hosts: 'all', roles: [role<object>('r', () => [looking])] })],
    inventoryOf({ g: ['h1', 'h2', 'h3'] }),
    {
      interrupt: controller.signal,
      confirm: async () => {
        throw new Error('asked');
      },
    },
  );
  expect(outcomes).toEqual([]);
  expect(result.declined).toBe(false);
  expect(result.hosts.map(({ stopped }) => stopped)).toEqual([
    'interrupted',
    'interrupted',
    'interrupted before it was checked',
  ]);
  expect(made.size).toBe(0);
});

test('a run that ends with an error of its own reports it', async () => {
  const choosy = role<object>('choosy', () => {
    throw new Problem('two values do not fit together');
  });
  const events: RunEvent[] = [];
  const inventory = inventoryOf({ g: ['h1'] });
  const all = playbook('test', 'tests.', [play('all', { hosts: 'all', roles: [choosy] })]);
  const options = { check: true, forks: 1, hosts: new Set(['h1']), selects: () => true };
  await expect(
    run(
      all,
      inventory,
      async () => session,
      { ...options, interrupt: new AbortController().signal },
      (event) => events.push(event),
    ),
  ).rejects.toThrow('do not fit together');
  expect(events.at(-1)).toMatchObject({
    type: 'run-failed',
    error: { message: 'two values do not fit together' },
  });
});

test('a host that a role does not accept fails there, and others go on', async () => {
  const made = new Set<string>();
  const first = role<object>('first', ({ host }) => [thing(made, `first ${host.name}`)]);
  const choosy = role<object>('choosy', ({ host }) => {
    if (host.name === 'h1') throw new Problem('its disk is taken', { code: exitCode.failed });
    return [thing(made, host.name)];
  });
  const { outcomes } = await runWith(
    [play('all', { hosts: 'all', roles: [first, choosy] })],
    inventoryOf({ a: ['h1', 'h2'] }),
  );
  expect(outcomes.sort()).toEqual([
    'h1 first h1 changed',
    'h1 h1 is fit for it failed',
    'h2 first h2 changed',
    'h2 h2 changed',
  ]);
});

test('bad input that a role detects ends the run before anything is changed', async () => {
  const made = new Set<string>();
  const first = role<object>('first', ({ host }) => [thing(made, host.name)]);
  const choosy = role<object>('choosy', ({ host }) => {
    if (host.name === 'h2') throw new Problem('two values do not fit together');
    return [];
  });
  const plays = [play('all', { hosts: 'all', roles: [first, choosy] })];
  await expect(runWith(plays, inventoryOf({ a: ['h1', 'h2'] }))).rejects.toThrow('do not fit together');
  expect(made.size).toBe(0);
});

const three = (made: Set<string>) => [
  play('one', { hosts: 'all', roles: [role<object>('r1', () => [thing(made, 'a')])] }),
  play('two', {
    hosts: 'all',
    roles: [
      role<object>('r2', ({ host }) => (host.name === 'h1' ? [thing(made, 'b')] : [])),
      role<object>('r3', ({ host }) => [thing(made, host.name === 'h1' ? 'c' : 'd')]),
    ],
  }),
];

test('a run starts at the given task, and on a host without that task at the role that has it', async () => {
  const { outcomes } = await runWith(three(new Set()), inventoryOf({ g: ['h1', 'h2'] }), { startAt: 'b' });
  expect(outcomes.sort()).toEqual(['h1 b changed', 'h1 c changed', 'h2 d changed']);
});

test('an unknown task to start at is refused with the nearest title, and nothing is changed', async () => {
  const made = new Set<string>();
  const plays = [
    play('all', { hosts: 'all', roles: [role<object>('r', () => [thing(made, 'time zone is UTC')])] }),
  ];
  await expect(runWith(plays, inventoryOf({ g: ['h1'] }), { startAt: 'time zone is UCT' })).rejects.toThrow(
    expect.objectContaining({
      message: 'no task is called "time zone is UCT"',
      hint: 'did you mean time zone is UTC?',
    }),
  );
  expect(made.size).toBe(0);
});

test('a plan that is not confirmed changes nothing, and without changes nobody is asked', async () => {
  const made = new Set<string>();
  const asked: unknown[] = [];
  const confirm = async (plans: unknown) => {
    asked.push(plans);
    return false;
  };
  const declined = await runWith(three(made), inventoryOf({ g: ['h1'] }), { confirm });
  expect(declined.result).toMatchObject({ declined: true });
  expect(declined.outcomes).toEqual([]);
  expect(made.size).toBe(0);
  expect(asked).toHaveLength(1);
  for (const name of ['a', 'b', 'c']) made.add(name);
  expect((await runWith(three(made), inventoryOf({ g: ['h1'] }), { confirm })).result.declined).toBe(false);
  expect(asked).toHaveLength(1);
});

test('the operator ends the run before a change: stopped, not failed', async () => {
  const confirmEach = async ({ resource }: { resource: string }) => (resource === 'a' ? 'change' : 'quit');
  const { outcomes, result, events } = await runWith(three(new Set()), inventoryOf({ g: ['h1'] }), {
    confirmEach,
  });
  expect(outcomes).toEqual(['h1 a changed']);
  expect(result).toMatchObject({
    declined: true,
    hosts: [{ stopped: 'you ended the run here', left: 2, next: 'b' }],
  });
  expect(events.at(-1)).toMatchObject({ type: 'run-finished', declined: true });
  expect(exitCodeOf(result)).toBe(exitCode.pending);
});

test('a change that the operator skips is recorded as skipped, with what depends on it, and the others are made', async () => {
  const made = new Set<string>();
  const waiting = eventually('d answers', async () => (made.has('a') ? ok : unknownUntil('a')), {
    seconds: 60,
  });
  const resources = [thing(made, 'a'), thing(made, 'b', 'a'), waiting, thing(made, 'c')];
  const plays = [play('all', { hosts: 'all', roles: [role<object>('r', () => resources)] })];
  const confirmEach = async ({ resource }: { resource: string }) => (resource === 'a' ? 'skip' : 'change');
  const { outcomes, result, events } = await runWith(plays, inventoryOf({ g: ['h1'] }), { confirmEach });
  expect(outcomes).toEqual(['h1 a skipped', 'h1 b skipped', 'h1 d answers skipped', 'h1 c changed']);
  expect(result).toMatchObject({
    declined: false,
    hosts: [{ stopped: undefined, counts: { skipped: 3, failed: 0 } }],
  });
  expect(events).toContainEqual(expect.objectContaining({ outcome: 'skipped', note: 'unknown until a' }));
  expect(exitCodeOf(result)).toBe(exitCode.pending);
});

test('a change that is not in the plan is not made, and reported', async () => {
  const { outcomes, events } = await runWith(three(new Set()), inventoryOf({ g: ['h1'] }), {
    refuses: ({ resource }) => (resource === 'a' ? undefined : 'this is not in the plan'),
  });
  expect(outcomes).toEqual(['h1 a changed', 'h1 b failed']);
  expect(String(events.findLast((e) => e.type === 'resource-done')?.error)).toContain('not in the plan');
});
