import { expect, test } from 'vitest';
import type { Facts } from '../host/facts/facts.ts';
import type { Reader, Writer } from '../host/host.ts';
import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { thisMachine } from '../inventory/testing/this-machine.ts';
import { describeProblem, Problem } from '../problem/problem.ts';
import { drift, ok, type Resource, refused, unknownUntil, type Verdict } from '../resource/resource.ts';
import { role } from '../resource/role.ts';
import { type Answer, fakeHost } from '../resource/testing/fake-host.ts';
import { sessionOf, type TestHost } from '../resource/testing/test-host.ts';
import type { RunEvent } from './events.ts';
import { thisHolder } from './lock/lock-holder.ts';
import { play, playbook } from './playbook.ts';
import { run } from './run.ts';
import type { RunOptions } from './run-options.ts';

/** A fleet of three hosts: `db` should have the resource, and `a` and `b` must not have it. */
class World {
  readonly has = new Set<string>();
  readonly away = new Set<string>();
  /** The hosts that answer last. */
  readonly slow = new Set<string>();
  readonly seen = new Map<string, Verdict>();
  readonly lockedBy = new Map<string, string>();
  /** The other hosts that the condition could read while it checked a host. */
  readonly others = new Map<string, readonly string[]>();
  /** The events in order: connections, locks, checks, the start. */
  readonly log: string[] = [];
  /** Called with each entry of the log: the state may change between two of them. */
  happens: (what: string) => void = () => {};

  note(what: string): void {
    this.log.push(what);
    this.happens(what);
  }

  /** The exclusive resource, and before it an ordinary one. */
  readonly resources = (host: string): Resource[] => [
    {
      name: 'before',
      check: async () => (this.has.has(`before ${host}`) ? ok : drift('missing')),
      work: async (writer) => void (await writer.run`make before ${host}`),
    },
    ...(host === 'db' ? [this.#only] : []),
  ];

  readonly #only: Resource = {
    name: 'only',
    check: async () => (this.has.has('only db') ? ok : drift('missing')),
    work: async (writer) => void (await writer.run`make only db`),
    everyHost: {
      name: 'there is no other',
      check: async ({ name }, unseen, reach) => {
        this.others.set(
          name,
          ['db', 'a', 'b'].filter((other) => other !== name && reach(other)?.name === other),
        );
        this.note(`look ${name}${unseen.length > 0 ? ` without ${unseen}` : ''}`);
        if (this.slow.has(name)) await new Promise((resolve) => setTimeout(resolve, 20));
        if (name !== 'db' && this.has.has(`only ${name}`)) return drift('it is here');
        return this.seen.get(name) ?? ok;
      },
      hint: 'stop the other',
    },
  };

  open = async ({ name }: InventoryHost<object>) => {
    this.note(`open ${name}`);
    if (this.away.has(name)) throw new Error(`${name}: no route to host`);
    const session = sessionOf(this.#host(name), { clockOffset: 0 } as Facts);
    return { ...session, close: async () => this.note(`close ${name}`) };
  };

  #host(name: string): TestHost {
    const answer = (command: string): Answer => {
      if (this.away.has(name)) return { exitCode: 255, stderr: 'gone' };
      const [, thing] = /make (.*)/.exec(command) ?? [];
      if (thing !== undefined) {
        this.note(`make ${thing}`);
        this.has.add(thing);
        return '';
      }
      if (command.includes('mkdir lock')) {
        const holder = this.lockedBy.get(name);
        if (holder !== undefined)
          return `held\n3\n${JSON.stringify({ ...elsewhere, token: holder, who: holder })}`;
        this.lockedBy.set(name, 'us');
        this.note(`lock ${name}`);
        return 'taken\n0';
      }
      if (command.includes('touch lock/holder'))
        return { exitCode: this.lockedBy.get(name) === 'us' ? 0 : 1 };
      if (command.includes('rm -rf lock')) {
        if (this.lockedBy.get(name) === 'us') this.lockedBy.delete(name);
        this.note(`unlock ${name}`);
        return '';
      }
      return '';
    };
    const fake = fakeHost([], { name });
    const shellOf = (pieces: TemplateStringsArray, words: readonly unknown[]) =>
      fakeHost([[/^/, answer(String.raw({ raw: pieces }, ...words))]], { name });
    const run = ((first: TemplateStringsArray | object, ...words: readonly unknown[]) => {
      if (!('raw' in first))
        return (pieces: TemplateStringsArray, ...more: readonly unknown[]) => run(pieces, ...(more as []));
      return shellOf(first as TemplateStringsArray, words).run`x`;
    }) as Writer['run'];
    const $ = (async () => {
      if (this.away.has(name)) throw new Error(`${name}: the connection was lost`);
      return fake.$`:`;
    }) as unknown as Reader['$'];
    return { ...fake, run, $ };
  }
}

const elsewhere = {
  ...thisHolder('deploy', 'stale', 0),
  process: { pid: 1, start: '1', machine: 'another' },
};

function inventoryOf(names: readonly string[]): Inventory<object> {
  const hosts = names.map((name) => ({ name, groups: [name], connection: thisMachine, vars: {} }));
  return { name: 'test', file: 'test.yaml', hosts };
}

async function runIn(world: World, options: Partial<RunOptions> = {}) {
  const events: RunEvent[] = [];
  const inventory = inventoryOf(['db', 'a', 'b']);
  const roles = ['first', 'last'].map((name, at) =>
    role<object>(name, ({ host }) => world.resources(host.name).slice(at, at + 1)),
  );
  const result = await run(
    playbook('test', 'tests.', [play('all', { hosts: 'all', roles })]),
    inventory,
    world.open,
    {
      check: false,
      forks: 3,
      hosts: new Set(['db', 'a', 'b']),
      selects: () => true,
      interrupt: new AbortController().signal,
      lock: { holder: { ...elsewhere, token: 'us' }, breaks: false },
      ...options,
    },
    (event) => events.push(event),
  ).catch((error: unknown) => error as Error);
  const done = events.flatMap((event) =>
    event.type === 'resource-done'
      ? [
          {
            what: `${event.task.host} ${event.task.resource} ${event.outcome}`,
            error: event.error,
            note: event.note,
          },
        ]
      : [],
  );
  return { result, events, done, only: done.find(({ what }) => what.startsWith('db only')) };
}

const limited = { hosts: new Set(['db']) };

const narrow: [string, Partial<RunOptions>][] = [
  ['all hosts', {}],
  ['--limit', limited],
  ['--role', { selects: (name) => name === 'last' }],
  ['--skip-role', { selects: (name) => name !== 'first' }],
  ['--start-at', { startAt: 'only' }],
  ['--limit and --role', { ...limited, selects: (name) => name === 'last' }],
  ['--limit and --start-at', { ...limited, startAt: 'only' }],
];

test.each(narrow)('%s: something that runs on another host stops the change', async (_, options) => {
  const world = new World();
  world.has.add('only b');
  const { only, result } = await runIn(world, options);
  expect(only?.what).toBe('db only failed');
  expect(describeProblem(only?.error as Problem)).toBe('there is no other: b: it is here\n  stop the other');
  expect(world.log).not.toContain('make only db');
  expect(result).toMatchObject({
    hosts: expect.arrayContaining([expect.objectContaining({ stopped: 'only failed' })]),
  });
});

test.each(narrow)('%s: a host that cannot be checked stops the change, and is named', async (_, options) => {
  const world = new World();
  world.away.add('b');
  const { only } = await runIn(world, options);
  expect(describeProblem(only?.error as Problem)).toBe(
    'there is no other: unknown, because b could not be checked: b: no route to host\n' +
      '  run again when b answers. If you know that what must not run is stopped there, and does not start by itself: --assume-stopped b',
  );
  expect(world.log).not.toContain('make only db');
});

test.each(narrow)(
  '%s: a host that is assumed to be stopped does not stop the change, and the change says so',
  async (_, options) => {
    const world = new World();
    world.away.add('b');
    const { only, events } = await runIn(world, { ...options, assumedStopped: new Set(['b']) });
    expect(only).toMatchObject({
      what: 'db only changed',
      note: 'missing; b not checked: assumed to be stopped',
    });
    expect(world.log).toContain('look db without b');
    expect(events[0]).toMatchObject({ type: 'run-started', assumedStopped: ['b'] });
  },
);

test('what the condition says of a host that meets it is beside the change', async () => {
  const world = new World();
  world.seen.set('a', { is: 'ok', note: 'a has a backup' });
  const { only } = await runIn(world, {});
  expect(only).toMatchObject({ what: 'db only changed', note: 'missing; a has a backup' });
});

test('a host that says itself what to do about it is heard', async () => {
  const world = new World();
  world.seen.set('a', refused('it has a newer database', 'go back to a backup'));
  world.has.add('only b');
  const { only } = await runIn(world, {});
  expect(describeProblem(only?.error as Problem)).toBe(
    'there is no other: a: it has a newer database; b: it is here\n  go back to a backup\nstop the other',
  );
});

test('a host that is assumed to be stopped, but answers, is checked', async () => {
  const world = new World();
  world.has.add('only b');
  const { only } = await runIn(world, { ...limited, assumedStopped: new Set(['b']) });
  expect(only?.what).toBe('db only failed');
});

test('hosts that refuse are named in the order of the inventory, whichever answers first', async () => {
  const world = new World();
  world.has.add('only a').add('only b');
  world.slow.add('a');
  const { only } = await runIn(world, limited);
  expect(only).toMatchObject({ error: { message: 'there is no other: a: it is here; b: it is here' } });
});

test('a condition reads other hosts beside the one that it checks, as far as they answer', async () => {
  const world = new World();
  world.away.add('b');
  await runIn(world, limited);
  expect(world.others).toEqual(
    new Map([
      ['db', ['a']],
      ['a', ['db']],
    ]),
  );
});

test('two hosts that cannot be checked are named together', async () => {
  const world = new World();
  world.away.add('a').add('b');
  const { only } = await runIn(world, limited);
  expect(only?.error).toMatchObject({
    hint: expect.stringMatching(/^run again when a and b answer\. .*--assume-stopped a,b$/),
  });
});

test('other hosts are locked, checked and unlocked only around the change', async () => {
  const world = new World();
  const { done } = await runIn(world, limited);
  expect(done.map(({ what }) => what)).toEqual(['db before changed', 'db only changed']);
  const { log } = world;
  const at = (what: string) => log.indexOf(what);
  for (const name of ['a', 'b']) {
    const order = [
      'make before db',
      `open ${name}`,
      `lock ${name}`,
      `look ${name}`,
      'make only db',
      `unlock ${name}`,
    ].map(at);
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect(order).not.toContain(-1);
    expect(log).toContain(`close ${name}`);
  }
  expect(world.lockedBy.size).toBe(0);
});

test('without a change no other host is connected to', async () => {
  const world = new World();
  world.has.add('before db').add('only db');
  for (const check of [false, true]) await runIn(world, { ...limited, check });
  await runIn(new World(), { ...limited, selects: (name) => name === 'first' });
  expect(world.log.filter((what) => / [ab]$/.test(what))).toEqual([]);
});

test('check mode says that the change is refused, locks nothing, and changes nothing', async () => {
  const world = new World();
  world.has.add('only b');
  const { only, result } = await runIn(world, { ...limited, check: true });
  expect(only).toMatchObject({
    what: 'db only failed',
    error: { message: 'there is no other: b: it is here' },
  });
  expect(result).toMatchObject({
    plans: [{ host: 'db', tasks: [{ outcome: 'pending' }, { outcome: 'failed' }] }],
  });
  expect(world.log.filter((what) => /^(lock|make)/.test(what))).toEqual([]);
});

test('check mode tries an unreachable host once', async () => {
  const world = new World();
  world.away.add('b');
  const { only } = await runIn(world, { check: true });
  expect(only?.what).toBe('db only failed');
  expect(world.log.filter((what) => what === 'open b')).toHaveLength(1);
});

test('check mode says what is assumed, and what cannot be known yet', async () => {
  const away = new World();
  away.away.add('b');
  const assumed = await runIn(away, { ...limited, check: true, assumedStopped: new Set(['b']) });
  expect(assumed.only).toMatchObject({
    what: 'db only pending',
    note: 'missing; b not checked: assumed to be stopped',
  });
  const early = new World();
  early.seen.set('a', unknownUntil('docker is running'));
  const unknown = await runIn(early, { ...limited, check: true });
  expect(unknown.only).toMatchObject({ what: 'db only unknown', note: 'until docker is running on a' });
});

test('a state that is unknown when the change is due stops it', async () => {
  const world = new World();
  world.seen.set('a', unknownUntil('docker is running'));
  const { only } = await runIn(world, limited);
  expect(describeProblem(only?.error as Problem)).toBe(
    'there is no other: unknown until docker is running on a\n  stop the other',
  );
});

test.each(narrow)(
  '%s: while another run has the lock of a host nothing is changed, exit code 5',
  async (_, options) => {
    const world = new World();
    const other = 'somebody@elsewhere';
    world.lockedBy.set('b', other);
    const { result } = await runIn(world, options);
    expect(result).toBeInstanceOf(Problem);
    expect(result).toMatchObject({
      code: 5,
      message: expect.stringMatching(/^b is locked by somebody@elsewhere /),
    });
    expect(world.log).not.toContain('make only db');
    expect([...world.lockedBy]).toEqual([['b', other]]);
  },
);

test('with --wait, a run that has locks itself does not wait for those of other hosts', async () => {
  const world = new World();
  world.lockedBy.set('b', 'somebody@elsewhere');
  const lock = { holder: { ...elsewhere, token: 'us' }, breaks: false, wait: 3600 };
  const { result, events } = await runIn(world, { ...limited, lock });
  expect(result).toMatchObject({
    code: 5,
    message: expect.stringMatching(
      /^b is locked by somebody@elsewhere .*; this run has locks itself, and does not wait for more$/,
    ),
    hint: 'run again when it has ended; without --limit a run takes the locks of all hosts at its start, where --wait 10m waits for them',
  });
  expect(events.filter(({ type }) => type === 'lock-awaited')).toEqual([]);
  expect(world.log).not.toContain('make only db');
  expect([...world.lockedBy.keys()]).toEqual(['b']);
});

test('a lock that is lost while the hosts are checked stops the change', async () => {
  const world = new World();
  world.happens = (what) => void (what === 'look b' && world.lockedBy.set('a', 'somebody'));
  const { result } = await runIn(world, limited);
  expect(result).toMatchObject({
    code: 5,
    message: expect.stringMatching(/^another run has taken the lock of a away/),
  });
  expect(world.log).not.toContain('make only db');
});

test('a closed connection to a host is opened again', async () => {
  const world = new World();
  world.happens = (what) => {
    // Gone for as long as it takes to detect it.
    if (what === 'make before db') world.away.add('a');
    if (what === 'open a') world.away.delete('a');
  };
  const { only } = await runIn(world, { selects: () => true });
  expect(only?.what).toBe('db only changed');
  expect(world.log.filter((what) => what === 'open a')).toHaveLength(2);
});

test('a change that fails releases the other locks', async () => {
  const world = new World();
  world.happens = (what) => {
    if (what === 'make only db') throw new Error('it broke');
  };
  const { only } = await runIn(world, limited);
  expect(only).toMatchObject({ what: 'db only failed', error: { message: 'it broke' } });
  expect(world.lockedBy.size).toBe(0);
});
