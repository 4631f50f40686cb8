import { describe, expect, test } from 'vitest';
import { ok, type Verdict } from '../../engine/resource/resource.ts';
import { alone, fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { answering, migrationsOf, type Recorded } from '../testing/migrations.ts';
import { contextOf, type Given } from '../testing/role-context.ts';
import {
  both,
  formerVersionIsStopped,
  formerVersionIsStoppedHere,
  noOtherVersionServes,
  versionStays,
} from './version-change.ts';

/** The lab's images are v3.1.0, of the binary /app/zkevm-node. */
const former = 'registry.example/node:v1.2.3';
const wanted = '172.30.77.10:5000/node:v3.1.0';

interface Running {
  readonly image: string;
  readonly binary?: string;
  readonly status?: string;
}

/**
 * A host with one container of the node, and with the new image unless it is said to be absent.
 */
function hostWith(
  name: string,
  container: Running | undefined,
  { hasImage = true, recorded = migrationsOf['v1.2.3'] as Recorded, databases = 'running' } = {},
) {
  const { image = '', binary = '/app/zkevm-node', status = 'running' } = container ?? {};
  const state = {
    ...runningContainer,
    image,
    status,
    running: status !== 'exited',
    raw: { Config: { Cmd: [binary, 'run'] } },
  };
  const seen: string[] = [];
  const host = fakeHost(
    [[new RegExp(`docker image inspect .* ${wanted}$`), hasImage ? 'sha256:1' : { exitCode: 1 }]],
    {
      name,
      ...answering(recorded),
      container: async (asked) => {
        if (asked.endsWith('-db')) return { ...runningContainer, status: databases };
        seen.push(asked);
        return container && state;
      },
    },
  );
  return { ...host, asked: seen };
}

const without =
  (...left: readonly [host: string, role?: string][]): Given['includes'] =>
  (host, role) =>
    !left.some(([name, only]) => name === host && (only === undefined || only === role));

const words = (verdict: Verdict | undefined): string => {
  if (verdict?.is === 'drift') return verdict.note ?? verdict.differences.map(({ was }) => was).join();
  return verdict?.is === 'unknown' ? `until ${verdict.until}` : (verdict?.is ?? 'none');
};

describe('a container of the node is of another version', () => {
  test.each<[string, Running | undefined, string]>([
    ['by its tag', { image: former }, `running ${former}`],
    ['not by its registry alone', { image: 'elsewhere.example/mine/node:v3.1.0' }, 'ok'],
    ['by its digest', { image: `node@sha256:${'1'.repeat(64)}` }, `running node@sha256:${'1'.repeat(64)}`],
    [
      'by its binary, under the same tag',
      { image: wanted, binary: '/app/cdk-validium-node' },
      `running ${wanted}`,
    ],
    ['while Docker restarts it', { image: former, status: 'restarting' }, `running ${former}`],
    ['and does not matter when it is stopped', { image: former, status: 'exited' }, 'ok'],
    ['or is not there', undefined, 'ok'],
  ])('%s', async (_, container, expected) => {
    const rpc = await contextOf({ group: 'rpc' });
    const host = hostWith('rpc-1', container);
    expect(words(await versionStays(rpc).check(host))).toBe(expected);
    expect(host.asked).toEqual(['json-rpc']);
    const [stop] = formerVersionIsStopped(await contextOf({}));
    expect(words(await stop?.check(hostWith('db-1', container)))).toBe(expected);
  });
});

test('it is stopped, and Docker does not start it again', async () => {
  for (const [group, container] of [
    ['rpc', 'json-rpc'],
    ['database', 'sync'],
  ] as const) {
    const host = fakeHost([], { container: async () => ({ ...runningContainer, image: 'node:v1.2.3' }) });
    const [stop] = formerVersionIsStopped(await contextOf({ group }));
    expect(await stop?.check(host)).toMatchObject({
      change: [{ do: 'run', command: `docker stop --time 120 ${container}` }],
    });
  }
});

describe('json-rpc and sync are stopped only if', () => {
  /**
   * @param running of a host of this name
   */
  const condition = async (
    includes: Given['includes'],
    name: string,
    running: Running | undefined,
    options: Parameters<typeof hostWith>[2] = {},
  ) => {
    const [stop] = formerVersionIsStopped(await contextOf({ group: 'rpc', ...(includes && { includes }) }));
    return words(await stop?.everyHost?.check(hostWith(name, running, options), [], alone));
  };

  test('the new image is on every server', async () => {
    for (const name of ['db-1', 'rpc-1', 'rpc-2']) {
      expect(await condition(undefined, name, { image: former })).toBe('ok');
      expect(await condition(undefined, name, { image: former }, { hasImage: false })).toBe(
        `until image ${wanted} is there`,
      );
      expect(await condition(undefined, name, { image: wanted }, { hasImage: false })).toBe('ok');
    }
  });

  test('the new image is there by the name that each server has for it', async () => {
    const image = 'mirror.example/node:v3.1.0';
    const changes = [[['groups', 'rpc', 'rpc-2', 'vars'], { images: { node: image } }]] as const;
    const [stop] = formerVersionIsStopped(await contextOf({ group: 'rpc', changes }));
    const host = hostWith('rpc-2', { image: former });
    expect(words(await stop?.everyHost?.check(host, [], alone))).toBe(`until image ${image} is there`);
  });

  test('every RPC server is part of the run, unless its json-rpc does not run', async () => {
    for (const includes of [without(['rpc-2']), without(['rpc-2', 'former-version'])]) {
      expect(await condition(includes, 'rpc-2', { image: former })).toBe(
        `json-rpc runs ${former}, and this run does not change that`,
      );
      expect(await condition(includes, 'rpc-2', { image: former, status: 'exited' })).toBe('ok');
      expect(await condition(includes, 'rpc-1', { image: former })).toBe('ok');
    }
  });

  test('sync is part of the run, or has migrated the database already', async () => {
    for (const includes of [without(['db-1']), without(['db-1', 'sync'])]) {
      expect(await condition(includes, 'db-1', { image: former })).toBe(
        `sync is running with ${former}, not running with ${wanted}, and this run does not change that`,
      );
      expect(await condition(includes, 'db-1', { image: wanted, status: 'exited' })).toContain(
        'sync is exited with',
      );
      expect(await condition(includes, 'db-1', undefined)).toBe(
        'there is no sync, and this run does not change that',
      );
      expect(await condition(includes, 'db-1', { image: wanted })).toBe('ok');
      expect(await condition(includes, 'rpc-2', { image: former })).toBe('ok');
    }
  });
});

test('sync does not start while json-rpc of another version runs on any server', async () => {
  const condition = async (includes: Given['includes'], name: string, running: Running | undefined) => {
    const { check } = noOtherVersionServes(await contextOf(includes ? { includes } : {}));
    return words(await check(hostWith(name, running), [], alone));
  };
  expect(await condition(undefined, 'rpc-1', { image: former })).toBe(
    `until json-rpc of ${former} is stopped`,
  );
  expect(await condition(without(['rpc-1']), 'rpc-1', { image: former })).toBe(
    `json-rpc runs ${former}, and this run does not change that`,
  );
  expect(await condition(undefined, 'rpc-1', { image: wanted })).toBe('ok');
  expect(await condition(undefined, 'rpc-1', undefined)).toBe('ok');
  // Its own container is replaced.
  expect(await condition(undefined, 'db-1', { image: former })).toBe('ok');
});

test('a run without the role that stops json-rpc stops it in the role json-rpc, under the same condition', async () => {
  const names = async (includes: Given['includes']) =>
    formerVersionIsStoppedHere(await contextOf({ group: 'rpc', ...(includes && { includes }) })).map(
      ({ name }) => name,
    );
  expect(await names(undefined)).toEqual([]);
  expect(await names(without(['rpc-1', 'former-version']))).toEqual([
    'json-rpc of another version is stopped',
  ]);
});

test('of two conditions what is not met counts before what is unknown', async () => {
  const drifting: Verdict = { is: 'drift', differences: [] };
  const unknown: Verdict = { is: 'unknown', until: 'x' };
  const condition = (verdict: Verdict) => ({
    name: verdict.is,
    check: async () => verdict,
    hint: `hint of ${verdict.is}`,
  });
  const of = (first: Verdict, second: Verdict) =>
    both(condition(first), condition(second)).check(fakeHost([]), [], alone);
  for (const other of [ok, unknown, drifting]) {
    expect(await of(drifting, other)).toBe(drifting);
    expect(await of(other, drifting)).toBe(drifting);
  }
  expect(await of(ok, unknown)).toBe(unknown);
  expect(await of(unknown, ok)).toBe(unknown);
  expect(await of(unknown, unknown)).toBe(unknown);
  expect(await of(ok, ok)).toBe(ok);
  expect(both(condition(drifting), condition(ok))).toMatchObject({
    name: 'drift, and ok',
    hint: 'hint of drift\nhint of ok',
  });
});
