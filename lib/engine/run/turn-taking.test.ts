import { expect, test } from 'vitest';
import type { InventoryHost } from '../inventory/inventory.ts';
import { thisMachine } from '../inventory/testing/this-machine.ts';
import { Interrupted } from '../resource/job/pause.ts';
import { containerChange, drift, driftOf, ok, type Resource, task } from '../resource/resource.ts';
import { role } from '../resource/role.ts';
import { fakeHost } from '../resource/testing/fake-host.ts';
import { sessionOf } from '../resource/testing/test-host.ts';
import type { RunEvent } from './events.ts';
import { type Play, play, playbook } from './playbook.ts';
import type { Turns } from './rolling.ts';
import { run } from './run.ts';
import type { RunOptions } from './run-options.ts';
import { exitCodeOf } from './run-options.ts';
import { makePlan } from './saved-plan.ts';

/** Every host and gateway in memory, with a log of what happens, in order. */
class World {
  readonly log: string[] = [];
  /** Hosts without the change of the test. */
  readonly old: Set<string>;
  /** By gateway: the hosts that it sends nothing to, and why. */
  readonly out = new Map<string, Map<string, string>>();
  /** Hosts that are not well, whatever a gateway thinks. */
  readonly ill = new Set<string>();
  /** Hosts whose change fails. */
  readonly bad = new Set<string>();
  /** Hosts that are ill after their change. */
  readonly illAfter = new Set<string>();
  /** The fewest hosts with clients at any time. */
  fewest = 99;
  readonly inventory: readonly InventoryHost<object>[];

  constructor(
    old: readonly string[],
    gateways = ['gw-1', 'gw-2'],
    rpc = ['rpc-1', 'rpc-2', 'rpc-3', 'rpc-4'],
  ) {
    this.old = new Set(old);
    for (const gateway of gateways) this.out.set(gateway, new Map());
    const named = (group: string) => (name: string) => ({
      name,
      groups: [group],
      connection: thisMachine,
      vars: {},
    });
    this.inventory = [...rpc.map(named('rpc')), ...gateways.map(named('gateway'))];
  }

  serving(gateway: string): string[] {
    const out = this.out.get(gateway);
    return this.inventory
      .filter(({ name, groups }) => groups.includes('rpc') && !out?.has(name) && !this.ill.has(name))
      .map(({ name }) => name);
  }

  note(line: string): void {
    this.log.push(line);
    this.fewest = Math.min(
      this.fewest,
      ...[...this.out.keys()].map((gateway) => this.serving(gateway).length),
    );
  }

  turns(): Turns<object> {
    const out = (at: InventoryHost<object>) => this.out.get(at.name) ?? new Map<string, string>();
    const step = (
      name: string,
      done: (at: InventoryHost<object>) => boolean,
      make: () => void,
      at: InventoryHost<object>,
    ): Resource =>
      task(name, {
        check: async () =>
          driftOf(
            done(at)
              ? []
              : [{ what: at.name, was: out(at).get(name.split(' ')[0] ?? '') ?? 'serves', wanted: 'other' }],
          ),
        work: async () => make(),
      });
    return {
      at: 'gateway',
      staysOut: 'it stays out',
      of: 'rpc',
      disturbs: (effect) => effect === containerChange('json-rpc'),
      look: async (_, at) => ({
        serving: this.serving(at.name),
        left: [...out(at)].filter(([, why]) => why === 'turn').map(([name]) => name),
      }),
      leave: (name, at) =>
        step(
          `${name} leaves`,
          () => out(at).has(name),
          () => {
            out(at).set(name, 'turn');
            this.note(`${at.name}: ${name} leaves`);
          },
          at,
        ),
      back: (name, at) =>
        step(
          `${name} comes back`,
          () => out(at).get(name) !== 'turn',
          () => {
            if (this.ill.has(name)) throw new Error(`${name} is ill`);
            out(at).delete(name);
            this.note(`${at.name}: ${name} comes back`);
          },
          at,
        ),
      undo: (name, at) =>
        step(
          `${name} is let in`,
          () => out(at).get(name) !== 'turn',
          () => {
            out(at).delete(name);
            this.note(`${at.name}: ${name} is let in`);
          },
          at,
        ),
    };
  }

  play(options: Partial<Play<object>> = {}) {
    const only = role<object>('r', ({ host }) => [
      {
        name: 'json-rpc runs',
        changes: () => [containerChange('json-rpc')],
        check: async () => (this.old.has(host.name) ? drift('old') : ok),
        work: async () => {
          this.note(`${host.name} changes`);
          if (this.bad.has(host.name)) throw new Error('bad image');
          if (this.illAfter.has(host.name)) this.ill.add(host.name);
          this.old.delete(host.name);
        },
      },
    ]);
    return play<object>('servers', {
      hosts: 'rpc',
      roles: [only],
      serial: 1,
      maxFail: 0,
      turns: this.turns(),
      ...options,
    });
  }

  async run(options: Partial<RunOptions> & { unreachable?: string[]; plays?: Play<object>[] } = {}) {
    const events: RunEvent[] = [];
    const session = sessionOf(fakeHost([]));
    const { unreachable = [], plays = [this.play()], ...rest } = options;
    const inventory = { name: 'test', file: 'test.yaml', hosts: this.inventory };
    const result = await run(
      playbook('test', 'tests.', plays),
      inventory,
      async ({ name }) => {
        if (unreachable.includes(name)) throw new Error('no route to host');
        return session;
      },
      {
        check: false,
        forks: 10,
        hosts: new Set(this.inventory.map(({ name }) => name)),
        selects: () => true,
        interrupt: new AbortController().signal,
        ...rest,
      },
      (event) => events.push(event),
    );
    const outcomes = events.flatMap((event) =>
      event.type === 'resource-done' ? [`${event.task.host} ${event.task.resource} ${event.outcome}`] : [],
    );
    const stopped = Object.fromEntries(
      result.hosts.filter((host) => host.stopped).map((host) => [host.host, host.stopped]),
    );
    return { result, events, outcomes, stopped, code: exitCodeOf(result), inventory };
  }
}

const all = ['rpc-1', 'rpc-2', 'rpc-3', 'rpc-4'];

test('hosts change one after the other: each leaves both gateways, changes and comes back', async () => {
  const world = new World(all);
  const { code } = await world.run();
  expect(code).toBe(0);
  expect(world.log).toEqual(
    all.flatMap((name) => [
      `gw-1: ${name} leaves`,
      `gw-2: ${name} leaves`,
      `${name} changes`,
      `gw-1: ${name} comes back`,
      `gw-2: ${name} comes back`,
    ]),
  );
  expect(world.fewest).toBe(3);
});

const alone = (world: World, without: readonly string[]) =>
  world.play({ turns: { ...world.turns(), aloneWithout: ({ name }) => without.includes(name) } });

/** The most changes at the same time. */
function mostTogether(events: readonly RunEvent[]): number {
  const running = new Set<string>();
  let most = 0;
  for (const event of events) {
    if (event.type === 'resource-started') running.add(event.task.host);
    if (event.type === 'resource-done') running.delete(event.task.host);
    most = Math.max(most, running.size);
  }
  return most;
}

test('without gateways hosts change together, but those one after the other of which the turns say so', async () => {
  const world = new World(all, []);
  expect(mostTogether((await world.run()).events)).toBe(4);
  const other = new World(all, []);
  const { code, events } = await other.run({ plays: [alone(other, all)] });
  expect(code).toBe(0);
  expect(other.log).toEqual(all.map((name) => `${name} changes`));
  expect(mostTogether(events)).toBe(1);
});

test('without gateways the first failure ends such a run', async () => {
  const world = new World(all, []);
  world.bad.add('rpc-2');
  const { stopped } = await world.run({ plays: [alone(world, all)] });
  expect(world.log).toEqual(['rpc-1 changes', 'rpc-2 changes']);
  expect(stopped['rpc-3']).toBe(
    'stopped on all hosts: rpc-2 failed or cannot be reached in "servers", and at most 0 may',
  );
  const partly = new World(all, []);
  await partly.run({ plays: [alone(partly, ['rpc-1', 'rpc-4'])] });
  expect(partly.log).toEqual(['rpc-2 changes', 'rpc-3 changes', 'rpc-1 changes', 'rpc-4 changes']);
});

test('with gateways it makes no difference', async () => {
  const world = new World(all);
  await world.run({ plays: [alone(world, all)] });
  expect(world.log).toHaveLength(20);
  expect(world.fewest).toBe(3);
});

test('a host with nothing to change never leaves, and a second run does nothing', async () => {
  const world = new World(['rpc-3']);
  await world.run();
  expect(world.log.filter((line) => line.includes('leaves'))).toEqual([
    'gw-1: rpc-3 leaves',
    'gw-2: rpc-3 leaves',
  ]);
  const length = world.log.length;
  expect((await world.run()).code).toBe(0);
  expect(world.log.length).toBe(length);
});

test('without gateways hosts change at the same time', async () => {
  const world = new World(all, []);
  const { outcomes } = await world.run();
  expect(world.log).toEqual(all.map((name) => `${name} changes`));
  expect(outcomes).toEqual(all.map((name) => `${name} json-rpc runs changed`));
});

test('where nobody has clients yet, hosts change at the same time and nobody leaves', async () => {
  const world = new World(all);
  for (const name of all) world.ill.add(name);
  const { code } = await world.run();
  expect([code, world.log]).toEqual([0, all.map((name) => `${name} changes`)]);
});

test('a host without clients has the first turn', async () => {
  const world = new World(all);
  world.out.get('gw-1')?.set('rpc-3', 'drained by the operator');
  world.out.get('gw-2')?.set('rpc-3', 'drained by the operator');
  await world.run();
  expect(world.log.filter((line) => line.endsWith('changes'))).toEqual(
    ['rpc-3', 'rpc-1', 'rpc-2', 'rpc-4'].map((name) => `${name} changes`),
  );
  expect(world.log.filter((line) => line.includes('rpc-3'))).toEqual(['rpc-3 changes']);
  expect(world.out.get('gw-1')?.get('rpc-3')).toBe('drained by the operator');
});

test('check mode shows turns, and changes nothing', async () => {
  const world = new World(['rpc-1', 'rpc-4']);
  const { events, code } = await world.run({ check: true });
  const pending = events.flatMap((event) =>
    event.type === 'resource-done' && event.outcome === 'pending'
      ? [`${event.task.host} ${event.task.role}: ${event.task.resource} (${event.note})`]
      : [],
  );
  expect([code, world.log]).toEqual([2, []]);
  expect(pending).toEqual([
    'rpc-1 turn: rpc-1 leaves (turn 1 of 2)',
    'rpc-1 r: json-rpc runs (old)',
    'rpc-1 turn: rpc-1 comes back (is done after turn of rpc-1)',
    'rpc-4 turn: rpc-4 leaves (turn 2 of 2)',
    'rpc-4 r: json-rpc runs (old)',
    'rpc-4 turn: rpc-4 comes back (is done after turn of rpc-4)',
  ]);
});

test('a saved plan has the turns', async () => {
  const world = new World(['rpc-2']);
  const { result, inventory } = await world.run({ check: true });
  const chosen = { roles: [], skippedRoles: [], set: [], assumedStopped: [], own: {} };
  const plan = makePlan(result.plans, { playbook: 'test', inventory, chosen }, 0);
  const tasks = plan.hosts
    .find(({ host }) => host === 'rpc-2')
    ?.tasks.map(({ role: name, resource }) => [name, resource]);
  expect(tasks).toEqual([
    ['turn', 'rpc-2 leaves'],
    ['r', 'json-rpc runs'],
    ['turn', 'rpc-2 comes back'],
  ]);
});

test('the first host that fails ends the run: the others are untouched, and it stays out', async () => {
  const world = new World(all);
  world.bad.add('rpc-1');
  const { code, stopped, result } = await world.run({ plays: [world.play({ maxFail: 4 })] });
  expect([code, result.leftOut]).toEqual([1, ['rpc-1']]);
  expect(world.log).toEqual(['gw-1: rpc-1 leaves', 'gw-2: rpc-1 leaves', 'rpc-1 changes']);
  expect(stopped['rpc-1']).toBe('json-rpc runs failed; it stays out');
  expect(stopped['rpc-2']).toBe(
    'stopped on all hosts: rpc-1 failed or cannot be reached in "servers", and a failure in the first batch ends the run',
  );
  world.bad.clear();
  expect((await world.run()).code).toBe(0);
  expect(world.out.get('gw-1')?.size).toBe(0);
});

test('a failure in a later turn ends the run where more than maxFail have failed', async () => {
  for (const [maxFail, changed] of [
    [0, 2],
    [1, 4],
    ['25%', 4],
    ['24%', 2],
  ] as const) {
    const world = new World(all);
    world.bad.add('rpc-2');
    const { code } = await world.run({ plays: [world.play({ maxFail })] });
    expect([maxFail, code, world.log.filter((line) => line.endsWith('changes')).length]).toEqual([
      maxFail,
      1,
      changed,
    ]);
  }
});

test('a failure in the last turn ends the run, too', async () => {
  const world = new World(all);
  world.bad.add('rpc-4');
  const { stopped } = await world.run();
  expect(stopped['rpc-1']).toBe(
    'stopped on all hosts: rpc-4 failed or cannot be reached in "servers", and at most 0 may',
  );
});

test.each<[serial: number | undefined, maxFail: 0 | 1, changed: string[], stops: boolean]>([
  [undefined, 0, ['rpc-1', 'rpc-2', 'rpc-3'], true],
  [undefined, 1, ['rpc-1', 'rpc-2', 'rpc-3'], false],
  [3, 0, ['rpc-1', 'rpc-2', 'rpc-3'], true],
])(
  'without turns, serial %s: more failed hosts than maxFail %s end the run',
  async (serial, maxFail, changed, stops) => {
    const world = new World(['rpc-1', 'rpc-2', 'rpc-3'], []);
    world.bad.add('rpc-2');
    const { roles } = world.play();
    const { stopped } = await world.run({
      plays: [play('servers', { hosts: 'rpc', roles, maxFail, ...(serial && { serial }) })],
    });
    expect(world.log).toEqual(changed.map((name) => `${name} changes`));
    expect(stopped['rpc-1']).toBe(
      stops
        ? 'stopped on all hosts: rpc-2 failed or cannot be reached in "servers", and at most 0 may'
        : undefined,
    );
  },
);

test('without turns, more unreachable hosts than maxFail end the run before a change', async () => {
  const world = new World(all, []);
  const { roles } = world.play();
  const plays = [play('servers', { hosts: 'rpc', roles, maxFail: 0 })];
  const { stopped } = await world.run({ unreachable: ['rpc-4'], plays });
  expect([world.log, stopped['rpc-1']]).toEqual([
    [],
    'stopped on all hosts: rpc-4 failed or cannot be reached in "servers", and at most 0 may',
  ]);
});

test('without gateways, hosts of a play with turns change together, and any number may fail', async () => {
  const world = new World(all, []);
  world.bad.add('rpc-2');
  const { stopped } = await world.run({ unreachable: ['rpc-4'] });
  expect(world.log).toEqual(['rpc-1 changes', 'rpc-2 changes', 'rpc-3 changes']);
  expect([stopped['rpc-1'], stopped['rpc-3']]).toEqual([undefined, undefined]);
});

test('unreachable hosts count: the run ends before the first turn', async () => {
  const world = new World(all);
  const { code, stopped } = await world.run({ unreachable: ['rpc-4'] });
  expect([code, world.log]).toEqual([4, []]);
  expect(stopped['rpc-1']).toContain('rpc-4 failed or cannot be reached in "servers", and at most 0 may');
  expect((await world.run({ unreachable: ['rpc-4'], plays: [world.play({ maxFail: '25%' })] })).code).toBe(4);
  expect(world.log.filter((line) => line.endsWith('changes')).length).toBe(3);
});

test('hosts of a batch leave one after the other', async () => {
  const world = new World(all);
  await world.run({ plays: [world.play({ serial: [1, '75%'] })] });
  expect(world.log.slice(0, 5).at(2)).toBe('rpc-1 changes');
  const leaving = world.log.filter((line) => line.includes('leaves'));
  expect(leaving).toEqual(all.flatMap((name) => [`gw-1: ${name} leaves`, `gw-2: ${name} leaves`]));
  expect(world.log.slice(5, 7)).toEqual(['gw-1: rpc-2 leaves', 'gw-2: rpc-2 leaves']);
});

test('the next run lets back in a host that a killed one left out, with and without a change', async () => {
  const world = new World(['rpc-1', 'rpc-2']);
  for (const name of ['rpc-2', 'rpc-4']) for (const out of world.out.values()) out.set(name, 'turn');
  const { code, outcomes } = await world.run();
  expect(code).toBe(0);
  expect(outcomes).toContain('rpc-4 rpc-4 comes back changed');
  expect(world.log.filter((line) => line.endsWith('changes'))).toEqual(['rpc-2 changes', 'rpc-1 changes']);
  expect([...world.out.values()].map((out) => out.size)).toEqual([0, 0]);
});

test('a host that a killed run left out between two plays comes back in the last of them', async () => {
  const world = new World(['rpc-2']);
  for (const out of world.out.values()) out.set('rpc-2', 'turn');
  // As after a kill between the stop and the start of its container.
  world.ill.add('rpc-2');
  const nothing = role<object>('nothing', () => [task('nothing', { check: async () => ok })]);
  const heals = role<object>('heals', ({ host }) => [
    {
      name: 'starts',
      changes: () => [containerChange('json-rpc')],
      check: async () => (world.old.has(host.name) ? drift('stopped') : ok),
      work: async () => {
        world.old.delete(host.name);
        world.ill.delete(host.name);
      },
    },
  ]);
  const plays = [
    play<object>('prepare', { hosts: 'rpc', roles: [nothing], serial: 1, turns: world.turns() }),
    world.play({ roles: [heals] }),
  ];
  const { code, outcomes } = await world.run({ plays });
  expect(code).toBe(0);
  expect(outcomes.filter((line) => line.includes('comes back'))).toEqual(['rpc-2 rpc-2 comes back changed']);
  expect(world.log).toEqual(['gw-1: rpc-2 comes back', 'gw-2: rpc-2 comes back']);
});

test('a host that is not well after its changes stays out, and the run ends', async () => {
  const world = new World(all);
  world.illAfter.add('rpc-1');
  const { code, stopped } = await world.run();
  expect(code).toBe(1);
  expect(world.log).toEqual(['gw-1: rpc-1 leaves', 'gw-2: rpc-1 leaves', 'rpc-1 changes']);
  expect(stopped['rpc-1']).toBe('rpc-1 comes back failed; it stays out');
});

test('Ctrl-C during a turn ends it: the host is let in as it is', async () => {
  const world = new World(all);
  const controller = new AbortController();
  const waits = role<object>('waits', () => [
    task('waits', {
      check: async () => drift('not yet'),
      work: async () => {
        controller.abort();
        throw new Interrupted();
      },
    }),
  ]);
  const { code, stopped } = await world.run({
    interrupt: controller.signal,
    plays: [world.play({ roles: [...world.play().roles, waits] })],
  });
  expect(code).toBe(130);
  expect(world.log).toEqual([
    'gw-1: rpc-1 leaves',
    'gw-2: rpc-1 leaves',
    'rpc-1 changes',
    'gw-1: rpc-1 is let in',
    'gw-2: rpc-1 is let in',
  ]);
  expect(Object.keys(stopped)).toEqual(all);
});

test('a change that only shows in its turn is surrounded as well', async () => {
  const world = new World([]);
  const before = role<object>('before', () => [
    task('before', {
      check: async () => (world.log.length === 0 ? drift('first') : ok),
      work: async () => {
        world.old.add('rpc-2');
        world.note('database changes');
      },
    }),
  ]);
  const { code } = await world.run({
    plays: [play('database', { hosts: 'gateway', roles: [before] }), world.play()],
  });
  expect(code).toBe(0);
  expect(world.log.filter((line) => !line.startsWith('gw-2') && !line.startsWith('database'))).toEqual([
    'gw-1: rpc-2 leaves',
    'rpc-2 changes',
    'gw-1: rpc-2 comes back',
  ]);
});

test('a gateway that cannot be reached keeps its hosts from changing, unless it is known to be off', async () => {
  const world = new World(['rpc-1']);
  const { events, code } = await world.run({ unreachable: ['gw-2'] });
  const failed = events.find((event) => event.type === 'resource-done' && event.outcome === 'failed');
  expect(failed).toMatchObject({
    error: {
      message: 'gw-2 cannot be reached, and may send clients to rpc-1',
      hint: 'run again when gw-2 answers. If you know that the gateway is off: --assume-stopped gw-2',
    },
  });
  expect([code, world.log]).toEqual([1, []]);
  await world.run({ unreachable: ['gw-2'], assumedStopped: new Set(['gw-2']) });
  expect(world.log).toEqual(['gw-1: rpc-1 leaves', 'rpc-1 changes', 'gw-1: rpc-1 comes back']);
});

test('a limit leaves gateways out of the run, not out of the turns', async () => {
  const world = new World(all);
  await world.run({ hosts: new Set(['rpc-2']) });
  expect(world.log.length).toBe(5);
  expect(world.log[0]).toBe('gw-1: rpc-2 leaves');
});

test('a role of two plays waits for the turn where there are gateways, and only there', async () => {
  // In a rollback the same role is another object in each play.
  const settings = () =>
    role<object>('settings', ({ host }) => [
      task('settings', {
        check: async () =>
          world.old.has(host.name) && !world.log.includes(`${host.name} settings`) ? drift('old') : ok,
        work: async () => world.note(`${host.name} settings`),
      }),
    ]);
  let world = new World(['rpc-1', 'rpc-2']);
  const plays = () => {
    const servers = world.play();
    return [
      play('settings', { hosts: 'all', roles: [settings()] }),
      { ...servers, roles: [settings(), ...servers.roles] },
    ];
  };
  world.bad.add('rpc-1');
  await world.run({ plays: plays() });
  expect(world.log.filter((line) => line.includes('settings'))).toEqual(['rpc-1 settings']);
  world = new World(['rpc-1', 'rpc-2'], []);
  world.bad.add('rpc-1');
  await world.run({ plays: plays() });
  expect(world.log.filter((line) => line.includes('settings'))).toEqual(['rpc-1 settings', 'rpc-2 settings']);
});

test('a serial play without turns changes hosts with something to change one after the other, the others before', async () => {
  const world = new World(['rpc-2', 'rpc-3'], []);
  world.bad.add('rpc-2');
  const { stopped } = await world.run({
    plays: [play('servers', { hosts: 'rpc', roles: world.play().roles, serial: 1 })],
  });
  expect(world.log).toEqual(['rpc-2 changes']);
  expect(stopped['rpc-3']).toContain('a failure in the first batch ends the run');
});
