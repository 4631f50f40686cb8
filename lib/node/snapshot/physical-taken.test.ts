import { expect, test } from 'vitest';
import takeSnapshot from '../../../roles/take-snapshot.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { physicalManifest } from '../testing/physical-manifest.ts';
import { contextOf, type Given, refusal } from '../testing/role-context.ts';
import { sourceHere } from './physical-source.ts';

const replica: NonNullable<Given['changes']> = [
  [['groups', 'replica'], { 'replica-1': { address: '172.30.77.40' } }],
  [['vars', 'replica'], { password: 'env:REPLICA' }],
];

const backup: Given['changes'] = [
  [['groups', 'backup'], { 'backup-1': { address: '172.30.77.41' } }],
  [['vars', 'backup'], { password: 'env:REPLICA' }],
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
  const named = {
    ...physicalManifest,
    password_hashes: false,
    image: 'registry.example:5000/postgres@sha256:1',
  };
  expect(await judged(files, JSON.stringify(named), publish)).toBe(
    'the snapshot in /data/s names a registry and is not to be published',
  );
});

test('one of another chain is not taken for that of the deployment', async () => {
  const files = { ...pieces, 'manifest.json': 1 };
  const of = (change: object) => judged(files, JSON.stringify({ ...physicalManifest, ...change }));
  expect(await of({ network: 'main' })).toBe('the snapshot in /data/s is of the main network');
  expect(await of({ chain_id: 5 })).toBe('the snapshot in /data/s is of another chain: its chain_id is 5');
  expect(await of({ l2_chain_id: 7 })).toBe(
    'the snapshot in /data/s is of another chain: its l2_chain_id is 7',
  );
});

/** What the plan says about the source. */
async function planned(to: string, given: Given, more: Record<string, string> = {}) {
  const host = fakeHost([[/^ls /, '']], {
    stat: async () => ({ ...rootsFile, type: 'directory' }),
    read: async () => undefined,
  });
  const verdict = await (await resources(to, given, more)).at(-1)?.check(host);
  if (verdict?.is !== 'drift') throw new Error('nothing is planned');
  return verdict.differences.find(({ what }) => what === 'source')?.wanted;
}

test('the plan says where it is taken, and why there', async () => {
  process.env.REPLICA = 'replica.Pw~4';
  const ofReplica: Given = { changes: replica, group: 'replica' };
  expect(await planned('/data/s', {})).toBe(
    'db-1: there is no replica and no backup host, so it does this work beside its own',
  );
  expect(await planned('/data/s', ofReplica)).toBe(
    'replica-1: a replica, so the Database+Sync server does no work for it',
  );
  const two = { 'replica-1': { address: '172.30.77.40' }, 'replica-2': { address: '172.30.77.42' } };
  const ofTwo: Given = { changes: [...replica.slice(1), [['groups', 'replica'], two]], group: 'replica' };
  expect(await planned('/data/s', ofTwo)).toBe(
    'replica-1: a replica, so the Database+Sync server does no work for it, the first of 2',
  );
  expect(await planned('/data/s', { changes: backup, group: 'backup' })).toBe(
    'backup-1: the backup host, as there is no replica, so no running server does work for it',
  );
  expect(await planned('replica-1:/data/s', ofReplica)).toBe('replica-1: as --to says');
  expect(await planned('/data/s', ofReplica, { from: 'replica-1' })).toBe('replica-1: as --from says');
});

test('a source that cannot be copied is refused before anything is installed or made', async () => {
  const [asked, install] = await resources('/data/s');
  expect(asked?.name).toBe('state-db of db-1 can be copied');
  expect(install?.name).toContain('zstd');
  expect(
    await refusal(
      [asked].flatMap((each) => each ?? []),
      'state-db of db-1 can be copied',
      fakeHost([], {
        sql: async () => ({ ok: false, error: 'no such container' }),
      }),
    ),
  ).toEqual(['state-db of db-1 can be copied: it does not answer', expect.stringContaining('--from HOST')]);
});

test('the backup host gets the programs of this version before they recover its repository', async () => {
  process.env.REPLICA = 'replica.Pw~4';
  const names = (given: Given) => resources('/data/s', given).then((all) => all.map(({ name }) => name));
  const ofBackup = await names({ changes: backup, group: 'backup' });
  for (const path of ['/usr/local/lib/rpc-node/recovery', '/etc/rpc-node/recovery.conf']) {
    const at = ofBackup.findIndex((name) => name.includes(path));
    expect(at).toBeGreaterThan(0);
    expect(at).toBeLessThan(ofBackup.length - 1);
  }
  expect((await names({})).join()).not.toContain('recovery');
});

test('it is taken where a server or a repository is, and its folder is there', async () => {
  await expect(resources('rpc-1:/data/s', { group: 'rpc' })).rejects.toThrow(
    '--to rpc-1:/data/s: a physical snapshot is taken where the database server, a replica or the repository of backups is',
  );
  await expect(resources('db-1:/data/s', {}, { from: 'replica-1' })).rejects.toThrow(
    '--to db-1:/data/s is on db-1, and --from takes the snapshot on replica-1',
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
  const ofReplica: Given = { changes, group: 'replica' };
  const names = (await resources('s3://snapshots/today', ofReplica)).map(({ name }) => name);
  expect(names[1]).toBe('s3://snapshots/today is free for the snapshot');
  const keys = ['directory /run/rpc-playbooks', 'file /run/rpc-playbooks/storage-upload'];
  expect(names.slice(-8)).toEqual([
    'state-db of replica-1 can be copied',
    expect.stringContaining('zstd'),
    ...keys,
    expect.stringMatching(/^physical snapshot of the database server is in \/.*\/snapshots\/today$/),
    ...keys,
    'snapshot is in s3://snapshots/today',
  ]);
  // The colon of the storage names no host.
  const why = async (to: string) =>
    sourceHere({ ...(await contextOf(ofReplica)), given: { to, physical: '' } })?.why;
  expect(await why('s3://snapshots/today')).toContain('replica-1: a replica, so');
  expect(await why('replica-1:s3://snapshots/today')).toBe('replica-1: as --to says');
});
