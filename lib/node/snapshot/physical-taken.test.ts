import { expect, test } from 'vitest';
import takeSnapshot from '../../../roles/take-snapshot.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { physicalManifest } from '../testing/physical-manifest.ts';
import { contextOf, type Given } from '../testing/role-context.ts';

const replica: Given['changes'] = [
  [['groups', 'replica'], { 'replica-1': { address: '172.30.77.40' } }],
  [['vars', 'replica'], { password: 'env:REPLICA' }],
];

const resources = async (to: string, given: Given = {}, more: Record<string, string> = {}) =>
  takeSnapshot.resources({ ...(await contextOf(given)), given: { to, physical: '', ...more } });

/** What the check says about a folder with these files, by their sizes. */
async function judged(
  files: Readonly<Record<string, number>>,
  text?: string,
  more: Record<string, string> = {},
) {
  const resource = (await resources('/data/s', {}, more)).at(-1);
  const verdict = await resource?.check(
    fakeHost(
      [
        [/^ls /, Object.keys(files).join('\n')],
        [
          /^find /,
          Object.entries(files)
            .map((each) => each.join(' '))
            .join('\n'),
        ],
      ],
      {
        stat: async () => ({ ...rootsFile, type: 'directory' }),
        read: async () => (text === undefined ? undefined : Buffer.from(text)),
      },
    ),
  );
  if (verdict?.is !== 'drift') return verdict?.is;
  return verdict.change instanceof Problem ? verdict.change.message : 'absent';
}

const [first, second] = ['piece-000000.tar.zst', 'piece-000001.tar.zst'] as const;
const text = JSON.stringify(physicalManifest);
const pieces = { [first]: 10, [second]: 20 };

test('the snapshot is there when its manifest and all its pieces are', async () => {
  expect(await judged({ ...pieces, 'manifest.json': 1 }, text)).toBe('ok');
  expect(await judged({ 'lost+found': 1 })).toBe('absent');
  expect(await judged({ '.part': 1, [first]: 10 })).toBe('absent');
});

test('what only looks like a snapshot is refused', async () => {
  expect(await judged({ [first]: 10 })).toBe(`/data/s holds ${first}, which is not of a snapshot`);
  expect(await judged(pieces, '{"state": 1}')).toBe(
    '/data/s/manifest.json is not the manifest of a physical snapshot',
  );
  expect(await judged({ [first]: 10 }, text)).toBe('the pieces in /data/s are not those of their manifest');
});

test('one of our own fleet is not taken for one to be published', async () => {
  const publish = { publish: '' };
  const files = { ...pieces, 'manifest.json': 1 };
  expect(await judged(files, text, publish)).toBe(
    'the snapshot in /data/s holds password hashes and is not to be published',
  );
  const published = JSON.stringify({ ...physicalManifest, password_hashes: false });
  expect(await judged(files, published, publish)).toBe('ok');
});

test('only a physical snapshot can be published: archives hold no roles', async () => {
  const context = await contextOf({});
  await expect(async () =>
    takeSnapshot.resources({ ...context, given: { to: '/data/s', publish: '' } }),
  ).rejects.toThrow('--publish is for a physical snapshot');
});

test('it is taken from the Database+Sync server, or from a replica that is named', async () => {
  process.env.REPLICA = 'replica.Pw~4';
  expect(await resources('/data/s')).toHaveLength(2);
  expect(await resources('replica-1:/data/s', { changes: replica, group: 'replica' })).toHaveLength(2);
});

test('it is taken where a server is', async () => {
  await expect(resources('rpc-1:/data/s', { group: 'rpc' })).rejects.toThrow(
    '--to rpc-1:/data/s: a physical snapshot is taken where the database server or a replica is',
  );
});

test('in a storage it is of the host that is named, and the inventory has to name the storage', async () => {
  process.env.REPLICA = 'replica.Pw~4';
  await expect(resources('s3://snapshots/today')).rejects.toThrow(
    '--to s3://snapshots/today is in a storage, and the inventory names none',
  );
  process.env.STORAGE = 'AKIAEXAMPLE';
  const s3 = {
    endpoint: 'https://storage.example',
    access_key: 'env:STORAGE',
    secret_key: 'env:STORAGE',
  };
  const changes = [...replica, [['vars', 'snapshot', 's3'], s3] as const];
  // curl, what is asked first, the keys and their folder, the copy with its package, and the way there.
  expect(await resources('s3://snapshots/today', { changes })).toHaveLength(7);
  expect(await resources('replica-1:s3://snapshots/today', { changes, group: 'replica' })).toHaveLength(7);
});
