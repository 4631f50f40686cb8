import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import backup from '../../../roles/backup.ts';
import recovery from '../../../roles/recovery.ts';
import recoveryEnd from '../../../roles/recovery-end.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { Problems } from '../../engine/problem/problem.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { type Answer, fakeHost, rootsFile, stoppedUnit } from '../../engine/resource/testing/fake-host.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { identitiesOfCopy } from '../recovery/asked.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';

process.env.BACKUP_PASSWORD = 'backup.Pw~4';
process.env.COPY_ACCESS = 'AKIAEXAMPLE';
process.env.COPY_SECRET = 'Copy/Secret+1';
// Made by age-keygen for this test.
const recipient = 'age1996cm3rwn7mfrgk5yq4zkprasgqdgq8uz0uad64043l4u0hmfpgs6qneul';
const identity = 'AGE-SECRET-KEY-1NG5CLWH6NPN7A4XMMF3P0ZT36EVLCCHHQX4Y5S797NYA9MUG67AQVD5QEU';
process.env.COPY_IDENTITY = identity;
process.env.COPY_MISSPELT = identity.replace(/.$/, identity.endsWith('Q') ? 'P' : 'Q');

const s3 = {
  endpoint: 'https://storage.example',
  access_key: 'env:COPY_ACCESS',
  secret_key: 'env:COPY_SECRET',
};
const copy_to = 's3://our-backups/mainnet';
const withCopy = (settings: Record<string, unknown>): Changes => [
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.7' } }],
  [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD', ...settings }],
];

async function problems(settings: Record<string, unknown>): Promise<string[]> {
  const error: unknown = await loadDeployment(await labDeployment(withCopy(settings))).catch(
    (reason: unknown) => reason,
  );
  if (!(error instanceof Problems)) throw new Error('it was loaded');
  for (const { where } of error.problems) expect(where).toMatchObject({ line: expect.any(Number) });
  return error.problems.map(({ message }) => message);
}

test.each<[string, Record<string, unknown>, string]>([
  [
    'a folder without a storage',
    { copy_to },
    `backup.s3 is missing: ${copy_to} is in a storage, which needs`,
  ],
  ['a storage without a folder', { s3 }, 'backup.s3 has no use without backup.copy_to'],
  [
    'keys without a folder',
    { recipients: [recipient] },
    'backup.recipients has no use without backup.copy_to',
  ],
  [
    'a bucket alone',
    { copy_to: 's3://our-backups', s3 },
    'backup.copy_to must be a bucket and a name in it, s3://bucket/folder',
  ],
  [
    'a key of SSH',
    { copy_to, s3, recipients: ['ssh-ed25519 AAAA'] },
    'backup.recipients.0 must be a public key of age, age1… with 62 characters',
  ],
  [
    'a public key with an error in it',
    { copy_to, s3, recipients: [recipient.replace(/.$/, recipient.endsWith('q') ? 'p' : 'q')] },
    'backup.recipients has a public key of age that is misspelt',
  ],
  [
    'text that is not a private key',
    { copy_to, s3, identity: 'env:BACKUP_PASSWORD' },
    'backup.identity (from environment variable BACKUP_PASSWORD) has a character that is not allowed: a private key of age',
  ],
  [
    'a private key with an error in it',
    { copy_to, s3, identity: 'env:COPY_MISSPELT' },
    'backup.identity is a private key of age that is misspelt',
  ],
  [
    'a private key in the inventory itself',
    { copy_to, s3, identity },
    'backup.identity must be a reference, env:NAME, file:PATH, secret:NAME or cmd:COMMAND',
  ],
  [
    'keys of the storage that are not set',
    { copy_to, s3: { ...s3, secret_key: 'env:COPY_NOT_SET' } },
    'backup.s3.secret_key: environment variable COPY_NOT_SET is not set',
  ],
])('%s is refused at its place', async (_, settings, words) => {
  const all = await problems(settings);
  expect(all.join()).toContain(words);
  expect(all.join()).not.toContain(identity);
});

const contentOf = async (resources: readonly Resource[], name: string): Promise<string> => {
  const verdict = await resources.find((each) => each.name === `file ${name}`)?.check(fakeHost([]));
  const differences = verdict?.is === 'drift' ? verdict.differences : [];
  return differences.find(({ what }) => what === 'content')?.wanted ?? '';
};

test('the backup host has public keys and the keys of the storage, and no private key', async () => {
  const settings = { copy_to, s3, identity: 'env:COPY_IDENTITY', recipients: [recipient] };
  const resources = await backup.resources(await contextOf({ changes: withCopy(settings), group: 'backup' }));
  expect(await contentOf(resources, '/etc/rpc-node/backup-copy-recipients')).toBe(`${recipient}\n`);
  expect(await contentOf(resources, '/etc/rpc-node/backup-copy.conf')).toContain(
    'URL=https://storage.example/our-backups/mainnet/\nSHOWN=s3://our-backups/mainnet/\nKEEP_DAYS=7\nRECIPIENTS=/etc/rpc-node/backup-copy-recipients',
  );
  const verdicts = await Promise.all(resources.map((each) => each.check(fakeHost([]))));
  expect(JSON.stringify(verdicts)).not.toContain(identity);
  expect(JSON.stringify(verdicts)).not.toContain('Copy/Secret');
  expect(resources.map(({ name }) => name)).toContain('schedule rpc-node-backup-copy');
});

test('without a copy nothing is asked of a storage, and what an earlier one has left goes', async () => {
  const resources = await backup.resources(await contextOf({ changes: withCopy({}), group: 'backup' }));
  const names = resources.map(({ name }) => name);
  expect(names).not.toContain('schedule rpc-node-backup-copy');
  const keys = resources.find(({ name }) => name === 'no keys of a storage for backups are left');
  expect(await keys?.check(fakeHost([]))).toEqual({ is: 'ok' });
  const left = fakeHost([], { stat: async () => rootsFile });
  expect(await keys?.check(left)).toMatchObject({
    change: [{ command: 'rm -f /etc/rpc-node/backup-copy-keys' }],
  });
  // A first copy runs for hours, with the keys in memory.
  const copying = fakeHost([], { unit: async () => ({ ...stoppedUnit, active: 'activating' }) });
  const stopped = resources.filter(({ name }) => name.includes('rpc-node-backup-copy'));
  const commands = await Promise.all(stopped.map((each) => each.check(copying)));
  expect(commands).toMatchObject(
    ['timer', 'service'].map((kind) => ({
      change: [{ command: `systemctl --quiet disable --now rpc-node-backup-copy.${kind}` }],
    })),
  );
});

test('what a storage refuses is said by a deploy', async () => {
  const changes = withCopy({ copy_to, s3 });
  const resources = await backup.resources(await contextOf({ changes, group: 'backup' }));
  const answers = resources.find(({ name }) => name === `${copy_to} can be listed`);
  const refuses = fakeHost([
    [/list-storage/, { exitCode: 1, stderr: `${copy_to}: there is no such bucket: make it` }],
  ]);
  expect(await answers?.check(refuses)).toMatchObject({
    note: `${copy_to}: there is no such bucket: make it`,
  });
  const bare = fakeHost([[/list-storage/, { exitCode: 3, stderr: 'curl is not installed' }]]);
  expect(await answers?.check(bare)).toEqual({ is: 'unknown', until: 'curl is installed' });
  expect(await answers?.check(fakeHost([[/list-storage/, 'base']]))).toEqual({ is: 'ok' });
});

const recover = async (given: Record<string, string>, settings: Record<string, unknown> = { copy_to, s3 }) =>
  recovery.resources({
    ...(await contextOf({ changes: withCopy(settings), group: 'backup' })),
    given: { 'to-time': 'latest', ...given },
  });

test.each<[Record<string, string>, Record<string, unknown>, string]>([
  [{ 'from-storage': '' }, {}, '--from-storage: the inventory names no copy of the backups'],
  [
    { 'from-storage': '', 'copy-identity': '/nowhere/key' },
    { copy_to, s3 },
    '--copy-identity /nowhere/key: the file does not exist',
  ],
])('a recovery with %o is refused', async (given, settings, words) => {
  await expect(recover(given, settings)).rejects.toThrow(words);
});

test('a private key comes from the file of the option, or from the inventory, and is not in the plan', async () => {
  const file = join(temporaryDirectory(), 'key');
  writeFileSync(file, 'no key\n', { mode: 0o600 });
  await expect(recover({ 'from-storage': '', 'copy-identity': file })).rejects.toThrow(
    `--copy-identity: ${file} has no private key of age`,
  );
  writeFileSync(file, `# created: today\n# public key: ${recipient}\n${identity}\n`);
  const of = async (given: Record<string, string>, settings: Record<string, unknown>) => {
    const context = await contextOf({ changes: withCopy(settings), group: 'backup' });
    return (await identitiesOfCopy({ ...context, given }))?.reveal();
  };
  expect(await of({ 'copy-identity': file }, { copy_to, s3 })).toBe(identity);
  expect(await of({}, { copy_to, s3, identity: 'env:COPY_IDENTITY' })).toBe(identity);
  expect(await of({}, { copy_to, s3 })).toBeUndefined();
  const resources = await recover({ 'from-storage': '', 'copy-identity': file });
  const keys = resources.find(({ name }) => name === 'file /run/rpc-playbooks/recovery-copy-keys');
  const verdict = await keys?.check(fakeHost([]));
  expect(verdict).toMatchObject({ is: 'drift' });
  expect(JSON.stringify(verdict?.is === 'drift' ? verdict.differences : [])).not.toMatch(
    /AGE-SECRET|Copy.Secret/,
  );
});

test('a copy is fetched once, offered again after another fetch, and removed at the end', async () => {
  const all = await recover({ 'from-storage': '' });
  const host = (fetchedAt: number, source = '/data/backup/from-storage') =>
    fakeHost([[/newer-copy/, '']], {
      read: async (path) => Buffer.from(path.endsWith('/lists/source') ? source : 'latest\n'),
      stat: async (path) => ({ ...rootsFile, modified: path.endsWith('/fetched') ? fetchedAt : 1000 }),
    });
  const fetched = all.find(({ name }) => name.endsWith('is fetched'));
  const offered = all.find(({ name }) => name.endsWith('is verified'));
  expect(await fetched?.check(host(900))).toEqual({ is: 'ok' });
  expect(await fetched?.check(fakeHost([]))).toMatchObject({ note: 'it is not here' });
  expect(await offered?.check(host(900))).toEqual({ is: 'ok' });
  expect(await offered?.check(host(1100))).toMatchObject({ note: 'it is not of the copy that was fetched' });
  // An offer of the other source has another log.
  expect(await offered?.check(host(900, '/data/backup/state-db'))).toMatchObject({
    note: 'what is verified is not of the storage',
  });
  const ofRepository = (await recover({})).find(({ name }) => name.endsWith('is verified'));
  expect(await ofRepository?.check(host(900))).toMatchObject({
    note: 'what is verified is not of the repository',
  });
  expect(await ofRepository?.check(host(900, '/data/backup/state-db'))).toEqual({ is: 'ok' });
  const context = await contextOf({ changes: withCopy({ copy_to, s3 }), group: 'backup' });
  const [end] = await recoveryEnd.resources({ ...context, given: { 'to-time': 'latest' } });
  expect(JSON.stringify(await end?.check(host(900)))).toContain('/data/backup/from-storage');
});

test('the newest copy is fetched again when the storage has got more, and that of a time is not', async () => {
  const fetchTo = async (time: string) =>
    (await recover({ 'from-storage': '', 'to-time': time })).find(({ name }) => name.endsWith('is fetched'));
  const latest = await fetchTo('latest');
  const has = (answer: Answer, time = 'latest') =>
    fakeHost([[/newer-copy \/data\/backup\/from-storage/, answer]], {
      read: async () => Buffer.from(`${time}\n`),
    });
  expect(await latest?.check(has(''))).toEqual({ is: 'ok' });
  // Without the mark the job does not take the earlier fetch for its own.
  const change = [{ command: 'rm -f /data/backup/from-storage/fetched' }];
  expect(await latest?.check(has('000000010000000000000007\n'))).toMatchObject({
    note: 'the storage has newer log',
    change,
  });
  const away = { exitCode: 1, stderr: `${copy_to}: the storage does not answer` };
  expect(await latest?.check(has(away))).toMatchObject({
    note: `whether it is the newest is not known: ${copy_to}: the storage does not answer`,
    change,
  });
  const time = '2026-01-02T03:04:05Z';
  expect(await (await fetchTo(time))?.check(has(away, time))).toEqual({ is: 'ok' });
});

test('a fetch that runs has its keys, and they are not written again', async () => {
  const keys = (await recover({ 'from-storage': '' })).find(({ name }) =>
    name.endsWith('/recovery-copy-keys'),
  );
  const during = (active: string) => fakeHost([], { unit: async () => ({ ...stoppedUnit, active }) });
  for (const active of ['active', 'deactivating'])
    expect(await keys?.check(during(active))).toEqual({ is: 'ok' });
  for (const active of ['inactive', 'failed'])
    expect(await keys?.check(during(active))).toMatchObject({ is: 'drift' });
});
