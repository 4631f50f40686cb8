import { beforeEach, expect, test, vi } from 'vitest';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { Interrupted } from '../../engine/resource/job/pause.ts';
import { containerChange, ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift, type TestHost } from '../../engine/resource/testing/test-host.ts';
import type { Variables } from '../variables/variables.ts';
import { drained, notDrained, rolling } from './drain.ts';

const turnReason = 'its turn in a run';

const settings = { metrics: 9101, drain_seconds: 30, healthy_seconds: 5 } as Variables['gateway'];

/** A gateway in memory, whose clock moves in pauses only. */
class Gateway {
  readonly marks = new Map<string, string>();
  readonly sessions = new Map<string, number>();
  readonly unfit = new Set<string>();
  readonly heavy = new Set<string>();
  readonly log: string[] = [];
  runs = true;
  now = 0;
  /** Called at each pause. */
  meanwhile = (_: number) => {};

  readonly names: readonly string[];

  constructor(names: readonly string[] = ['rpc-1', 'rpc-2', 'rpc-3']) {
    this.names = names;
    vi.spyOn(performance, 'now').mockImplementation(() => this.now);
  }

  serves(name: string): boolean {
    return !this.marks.has(name) && !this.unfit.has(name);
  }

  fleet(): string {
    const hosts = this.names.map((host) => ({
      host,
      heavy: this.heavy.has(host),
      serves: this.serves(host),
      fit: !this.unfit.has(host),
      reason: this.marks.has(host)
        ? `drained: ${this.marks.get(host)}`
        : this.unfit.has(host)
          ? 'does not answer'
          : null,
      drained: this.marks.get(host) ?? null,
      height: 5,
      hash: '0x5',
      sessions: this.sessions.get(host) ?? 0,
    }));
    return `HTTP/1.1 200 OK\n\n${JSON.stringify({ judged: true, configuration: 'c', hosts })}`;
  }

  get host(): TestHost {
    const base = () => fakeHost(this.runs ? [[/probe/, this.fleet()]] : []);
    const run = async (pieces: TemplateStringsArray, ...words: readonly unknown[]) => {
      const [, verb, name, reason] = String.raw(pieces, ...words).match(/gateway (\w+) (\S+) ?(.*)$/) ?? [];
      this.log.push(`${this.now / 1000} s: ${verb} ${name}${reason ? ` ${reason}` : ''}`);
      if (verb === 'drain') this.marks.set(name ?? '', reason ?? '');
      if (verb === 'undrain') this.marks.delete(name ?? '');
      if (verb === 'cut') this.sessions.delete(name ?? '');
    };
    return {
      ...base(),
      $: ((...args: Parameters<TestHost['$']>) => base().$(...args)) as TestHost['$'],
      run: run as unknown as TestHost['run'],
      read: async (path) => {
        const mark = this.marks.get(path.split('/').at(-1) ?? '');
        return mark === undefined ? undefined : Buffer.from(`${mark}\n`);
      },
      sleep: async (seconds) => {
        this.now += seconds * 1000;
        this.meanwhile(this.now / 1000);
      },
    };
  }
}

beforeEach(() => () => vi.restoreAllMocks());

const leaves = (changes = {}) => drained('rpc-1 leaves', 'rpc-1', turnReason, { ...settings, ...changes });
const comesBack = rolling.turns.back('rpc-1', { vars: { gateway: settings } } as InventoryHost<Variables>);

test('a host leaves, its requests end by themselves, and nothing is cut', async () => {
  const gateway = new Gateway();
  gateway.sessions.set('rpc-1', 3);
  expect(await leaves().check(gateway.host)).toMatchObject({
    differences: [{ what: 'rpc-1', was: 'serves, 3 connections', wanted: 'drained, no connections' }],
  });
  gateway.meanwhile = (now) => void (now >= 4 && gateway.sessions.set('rpc-1', 0));
  await applyDrift(gateway.host, leaves());
  expect(gateway.log).toEqual([`0 s: drain rpc-1 ${turnReason}`]);
  expect(await leaves().check(gateway.host)).toEqual(ok);
});

test('connections that do not end are cut after the given time', async () => {
  const gateway = new Gateway();
  gateway.sessions.set('rpc-1', 12);
  await applyDrift(gateway.host, leaves());
  expect(gateway.log).toEqual([`0 s: drain rpc-1 ${turnReason}`, '30 s: cut rpc-1']);
});

test('connections that cannot be cut are an error', async () => {
  const gateway = new Gateway();
  gateway.meanwhile = () => void gateway.sessions.set('rpc-1', 1);
  gateway.sessions.set('rpc-1', 1);
  await expect(applyDrift(gateway.host, leaves())).rejects.toMatchObject({
    message: `rpc-1 still has clients: out: drained: ${turnReason}, 1 connections`,
    hint: 'see journalctl -u haproxy on the gateway',
  });
});

test('a host does not leave while too few others serve, and the reason names them', async () => {
  const gateway = new Gateway();
  gateway.unfit.add('rpc-2').add('rpc-3');
  await expect(applyDrift(gateway.host, leaves())).rejects.toMatchObject({
    message:
      'rpc-1 cannot leave the gateways: 0 other RPC hosts serve, and there have to be 1. rpc-2: does not answer; rpc-3: does not answer',
    hint: 'status says why servers are out; gateway.least_serving says how many have to serve',
  });
  expect(gateway.marks.size).toBe(0);
  gateway.meanwhile = () => gateway.unfit.delete('rpc-3');
  await applyDrift(gateway.host, leaves());
  expect(gateway.marks.get('rpc-1')).toBe(turnReason);
});

test('the number of others is that of the inventory, and a host that does not serve may always leave', async () => {
  const strict = leaves({ least_serving: 2 });
  const gateway = new Gateway();
  gateway.unfit.add('rpc-2');
  await expect(applyDrift(gateway.host, strict)).rejects.toThrow(
    '1 other RPC hosts serve, and there have to be 2',
  );
  gateway.unfit.add('rpc-1');
  await applyDrift(gateway.host, strict);
  expect(gateway.marks.get('rpc-1')).toBe(turnReason);
});

test('a host for heavy methods does not stand in for a usual one, nor the other way round', async () => {
  const gateway = new Gateway(['rpc-1', 'rpc-2', 'rpc-3', 'rpc-4']);
  gateway.heavy.add('rpc-3').add('rpc-4');
  gateway.unfit.add('rpc-2');
  await expect(applyDrift(gateway.host, leaves())).rejects.toThrow(
    'rpc-1 cannot leave the gateways: 0 other RPC hosts serve, and there have to be 1. rpc-2: does not answer',
  );
  const heavyLeaves = drained('rpc-3 leaves', 'rpc-3', turnReason, { ...settings, least_serving: 2 });
  gateway.unfit.add('rpc-4');
  await expect(applyDrift(gateway.host, heavyLeaves)).rejects.toThrow(
    '0 other RPC hosts for heavy methods serve, and there have to be 1. rpc-4: does not answer',
  );
  gateway.unfit.delete('rpc-4');
  await applyDrift(gateway.host, heavyLeaves);
  expect([...gateway.marks.keys()]).toEqual(['rpc-3']);
});

test.each([
  ['usual', 'rpc-1'],
  ['heavy', 'rpc-3'],
])('the only host of its kind may leave: %s', async (_, name) => {
  const gateway = new Gateway(['rpc-1', 'rpc-3']);
  gateway.heavy.add('rpc-3');
  await applyDrift(gateway.host, drained('x', name, turnReason, settings));
  expect([...gateway.marks.keys()]).toEqual([name]);
});

test('the only RPC host may leave', async () => {
  const gateway = new Gateway(['rpc-1']);
  await applyDrift(gateway.host, leaves());
  expect(gateway.marks.size).toBe(1);
});

test('a host comes back after it was well for the given time without a break', async () => {
  const gateway = new Gateway();
  gateway.marks.set('rpc-1', turnReason);
  gateway.unfit.add('rpc-1');
  gateway.meanwhile = (now) => {
    if (now === 3 || now === 7) gateway.unfit.delete('rpc-1');
    if (now === 6) gateway.unfit.add('rpc-1');
  };
  await applyDrift(gateway.host, comesBack);
  expect(gateway.log).toEqual(['12 s: undrain rpc-1']);
  expect(await comesBack.check(gateway.host)).toEqual(ok);
});

test('a host that does not become well stays out', async () => {
  const gateway = new Gateway();
  gateway.marks.set('rpc-1', turnReason);
  gateway.unfit.add('rpc-1');
  await expect(applyDrift(gateway.host, comesBack)).rejects.toMatchObject({
    message: `rpc-1 is not well after 300 s: drained: ${turnReason}`,
    hint: 'see on the gateway: /usr/local/lib/rpc-node/gateway fleet 9101',
  });
  expect(gateway.marks.get('rpc-1')).toBe(turnReason);
});

test('what the operator has drained stays so through a turn, and a turn becomes the drain of the operator', async () => {
  const gateway = new Gateway();
  gateway.marks.set('rpc-1', 'new disk');
  expect(await leaves().check(gateway.host)).toEqual(ok);
  expect(await comesBack.check(gateway.host)).toEqual(ok);
  expect(await notDrained('x', 'rpc-1', turnReason).check(gateway.host)).toEqual(ok);
  gateway.marks.set('rpc-1', turnReason);
  await applyDrift(gateway.host, drained('x', 'rpc-1', 'new disk', settings));
  expect(gateway.marks.get('rpc-1')).toBe('new disk');
});

test('an interrupted wait ends at once', async () => {
  const gateway = new Gateway();
  gateway.sessions.set('rpc-1', 1);
  await expect(applyDrift({ ...gateway.host, sleep: async () => {} }, leaves())).rejects.toBeInstanceOf(
    Interrupted,
  );
});

test('a gateway without HAProxy, or that does not know the host, sends nobody there', async () => {
  const gateway = new Gateway(['rpc-2']);
  expect(await leaves().check(gateway.host)).toEqual(ok);
  expect(await comesBack.check(gateway.host)).toEqual(ok);
  gateway.runs = false;
  expect(await leaves().check(gateway.host)).toEqual(ok);
});

test('a host that is let in as it is shows the command', async () => {
  const gateway = new Gateway();
  gateway.marks.set('rpc-1', 'new disk');
  expect(await notDrained('x', 'rpc-1').check(gateway.host)).toMatchObject({
    differences: [{ what: 'rpc-1', was: 'drained: new disk', wanted: 'not drained' }],
    change: [{ command: '/usr/local/lib/rpc-node/gateway undrain rpc-1' }],
  });
});

test('turns are for changes that clients notice', () => {
  expect(
    ['json-rpc', 'prover', 'pool-db'].map((name) => rolling.turns.disturbs(containerChange(name))),
  ).toEqual([true, true, true]);
  expect(rolling.turns.disturbs('unit docker.service')).toBe(true);
  expect(rolling.turns.disturbs('file /opt/rpc-node/node.config.toml')).toBe(false);
});
