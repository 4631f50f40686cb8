import { describe, expect, test } from 'vitest';
import type { Verdict } from '../../engine/resource/resource.ts';
import { type Answer, fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { answering, migrationsOf, type Recorded } from '../testing/migrations.ts';
import { contextOf } from '../testing/role-context.ts';
import { databasesAreUnderstood, migrationsAreKnown, poolIsCarriedOver } from './known-migrations.ts';

const older = migrationsOf['v1.2.3'];
const current = migrationsOf['v3.1.0'];
const former = 'registry.example/node:v1.2.3';
const wanted = '172.30.77.10:5000/node:v3.1.0';

/**
 * A host as a test has it: its databases, its node's container, and what the search of the image's
 * program prints.
 */
interface Seen extends Recorded {
  readonly name?: string;
  readonly image?: string | undefined;
  readonly restartCount?: number;
  readonly databases?: 'running' | 'exited' | 'absent';
  readonly missing?: Answer;
}

function hostWith({
  name = 'rpc-1',
  image = former,
  restartCount = 0,
  databases = 'running',
  missing = { exitCode: 125, stderr: 'Unable to find image' },
  ...recorded
}: Seen) {
  const answers: [RegExp, Answer][] = [
    [
      /docker image inspect/,
      typeof missing === 'string' || missing.exitCode !== 125 ? 'sha256:1' : { exitCode: 1 },
    ],
    [/missing-migrations/, missing],
  ];
  return fakeHost(answers, {
    name,
    ...answering(recorded),
    container: async (container) => {
      if (!container.endsWith('-db')) return { ...runningContainer, image, restartCount };
      if (databases === 'absent') return undefined;
      return { ...runningContainer, status: databases, running: databases === 'running' };
    },
  });
}

const words = (verdict: Verdict | undefined): string => {
  if (verdict?.is === 'drift')
    return verdict.note ?? verdict.differences.map((d) => `${d.was} -> ${d.wanted}`).join();
  return verdict?.is === 'unknown' ? `until ${verdict.until}` : (verdict?.is ?? 'none');
};

const node = (tag: string): Changes => [[['vars', 'images', 'node'], `172.30.77.10:5000/node:${tag}`]];
const olderNode: Changes = [
  [['vars', 'images', 'node'], '172.30.77.10:5000/node'],
  [['vars', 'generation'], 'older'],
  [['vars', 'images', 'prover'], '172.30.77.10:5000/prover'],
];
const unknownOwn = 'the pool database has own-001.sql, which node v3.1.0 does not know';
const rename = 'supernets-0001.sql -> validium-001.sql';

describe('the pool database of an RPC server, before its program starts', () => {
  test.each<[what: string, seen: Seen, changes: Changes, expected: string]>([
    ['is not there yet', { databases: 'absent' }, [], 'ok'],
    ['has no migrations yet', { pool: null }, [], 'ok'],
    [
      'does not run',
      { databases: 'exited' },
      [],
      'until pool-db is running, so that its migrations can be read',
    ],
    ['is of the older generation', { pool: older.pool }, [], rename],
    ['is of the current one', { pool: current.pool, image: wanted }, [], 'ok'],
    [
      'has an unknown one beside it',
      { pool: [...older.pool, 'own-001.sql'], missing: 'own-001.sql\n' },
      [],
      unknownOwn,
    ],
    ['has one that the program names', { pool: [...older.pool, 'own-001.sql'], missing: '' }, [], rename],
    [
      'has an unknown one, and the image is not there yet',
      { pool: [...older.pool, 'own-001.sql'] },
      [],
      `until image ${wanted} is there`,
    ],
    [
      'has the current name, and the older version is to come',
      { pool: [...older.pool.slice(0, -1), 'validium-001.sql'], image: wanted },
      olderNode,
      'validium-001.sql -> supernets-0001.sql',
    ],
    [
      'is of a version without a list, whose program has the current name',
      { pool: older.pool, missing: 'supernets-0001.sql\n' },
      node('v2.1.0'),
      rename,
    ],
    [
      'is of a version without a list, whose program has the older name',
      { pool: older.pool, missing: 'validium-001.sql\n' },
      node('v2.1.0'),
      'ok',
    ],
    ['is served by this version', { pool: ['own-001.sql'], image: wanted }, [], 'ok'],
    [
      'ends this version again and again',
      { pool: ['own-001.sql'], image: wanted, restartCount: 3, missing: 'own-001.sql\n' },
      [],
      unknownOwn,
    ],
    [
      'was renamed by hand without its tables',
      { pool: older.pool, hasTables: false },
      [],
      'the pool database has supernets-0001.sql, which node v3.1.0 does not know',
    ],
  ])('%s', async (_, seen, changes, expected) => {
    const resource = poolIsCarriedOver(await contextOf({ group: 'rpc', changes }));
    expect(words(await resource.check(hostWith(seen)))).toBe(expected);
  });
});

describe('before anything is changed, on the Database+Sync server', () => {
  const seen = async (given: Seen, changes: Changes = [], roles = ['known-migrations', 'snapshot']) => {
    const resources = migrationsAreKnown({ ...(await contextOf({ changes })), roles: new Set(roles) });
    return Promise.all(
      resources.map(async (resource) => words(await resource.check(hostWith({ name: 'db-1', ...given })))),
    );
  };

  test('databases of the older generation are accepted, and new ones', async () => {
    expect(await seen({ ...older })).toEqual(['ok', 'ok']);
    expect(await seen({ databases: 'absent', image: undefined })).toEqual(['ok', 'ok']);
  });

  test('a downgrade is refused, whether or not the image is there', async () => {
    for (const missing of [undefined, '0011.sql\n0012.sql\n'])
      expect(
        await seen({ ...current, image: wanted, ...(missing !== undefined && { missing }) }, olderNode),
      ).toEqual([
        'the state database has 14 migrations that node v1.2.3 does not know: 0009.sql, 0010.sql, 0011.sql and 11 more',
        missing === undefined
          ? 'ok'
          : 'the pool database has 2 migrations that node v1.2.3 does not know: 0011.sql, 0012.sql',
      ]);
  });

  test('a downgrade to a version with the same migrations is accepted', async () => {
    expect(await seen({ ...current, image: 'node:v3.2.0', missing: '' })).toEqual(['ok', 'ok']);
    expect(await seen({ ...current, image: wanted, missing: '' }, node('v3.0.9'))).toEqual(['ok', 'ok']);
  });

  test('a state database that a snapshot replaces is not asked: it is the way back', async () => {
    const replaced: Changes = [...olderNode, [['vars', 'snapshot', 'replace_existing'], true]];
    expect(await seen({ ...current, image: wanted, pool: null }, replaced)).toEqual(['ok']);
    // As in a switch, which restores none.
    const [state] = await seen({ ...current, image: wanted, pool: null }, replaced, ['known-migrations']);
    expect(state).toContain('the state database has 14 migrations that node v1.2.3 does not know');
  });

  test('a database that does not run is unknown only where another version is to be stopped', async () => {
    expect(await seen({ databases: 'exited' })).toEqual([
      'until state-db is running, so that its migrations can be read',
      'until pool-db is running, so that its migrations can be read',
    ]);
    expect(await seen({ databases: 'exited', image: wanted })).toEqual(['ok', 'ok']);
  });
});

test('before a stop, the databases of every server are asked, and of no other host', async () => {
  const { hosts } = await contextOf({});
  const verdictOn = (name: string, given: Seen) =>
    databasesAreUnderstood(hostWith({ name, ...given }), hosts);
  const on = (name: string, given: Seen) => verdictOn(name, given).then(words);
  expect(await on('db-1', { ...older })).toBe('ok');
  expect(await on('db-1', { ...older, state: [...older.state, '9999.sql'] })).toBe(
    'the state database has 9999.sql, which node v3.1.0 does not know',
  );
  // The condition of a stop has another hint of its own.
  expect(await verdictOn('db-1', { ...older, state: [...older.state, '9999.sql'] })).toMatchObject({
    change: { hint: expect.stringContaining('go back to a snapshot or a backup from before') },
  });
  // An RPC server has no state database of its own.
  expect(await on('rpc-1', { state: ['9999.sql'], pool: older.pool })).toBe('ok');
  expect(await on('rpc-1', { databases: 'exited' })).toBe(
    'until pool-db is running, so that its migrations can be read',
  );
  expect(await on('elsewhere', { state: ['9999.sql'], pool: ['9999.sql'] })).toBe('ok');
});
