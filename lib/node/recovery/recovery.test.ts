import { expect, test } from 'vitest';
import recovery from '../../../roles/recovery.ts';
import recoveryData from '../../../roles/recovery-data.ts';
import recoveryTarget from '../../../roles/recovery-target.ts';
import type { ContainerState } from '../../engine/host/host.ts';
import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { describeVerdict, drift } from '../../engine/resource/resource.ts';
import {
  type Answer,
  fakeHost,
  rootsFile,
  runningContainer,
  stoppedUnit,
} from '../../engine/resource/testing/fake-host.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { authorityFiles } from '../encryption/testing/authority.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf, type Given } from '../testing/role-context.ts';
import { connectionToOffer } from './serving.ts';

process.env.BACKUP_PASSWORD = 'backup.Pw~4';
const backup: Changes = [
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.7' } }],
  [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD' }],
];

const resources = async (given: Record<string, string>, more: Given = { changes: backup }) =>
  recovery.resources({ ...(await contextOf(more)), given });

/** Of the role that follows when the databases are stopped. */
const dataResources = async (given: Record<string, string>, more: Given = { changes: backup }) =>
  recoveryData.resources({ ...(await contextOf(more)), given });

const names = async (...given: Parameters<typeof resources>) =>
  (await resources(...given)).map(({ name }) => name);

test('another server than that of the inventory is refused', async () => {
  await expect(names({ 'to-time': 'latest', 'to-server': 'db-9' })).rejects.toThrow(
    '--to-server db-9: the Database+Sync server of the inventory is db-1',
  );
});

test('a drill changes nothing on the Database+Sync server', async () => {
  expect(await dataResources({ 'to-time': 'latest', drill: '' })).toEqual([]);
  expect(await dataResources({})).toEqual([]);
  expect(await names({ 'to-time': 'latest', drill: '' })).toEqual([]);
  expect(await names({ 'to-time': 'latest', drill: '' }, { changes: backup, group: 'backup' })).toEqual([
    'a recovery drill to latest passes',
    'the newest drill that passed',
  ]);
  expect(await names({})).toEqual([]);
});

test('a data directory that is there is not replaced, unless it may be put aside', async () => {
  const there = fakeHost([[/ls -A/, 'PG_VERSION']]);
  const [guard] = await resources({ 'to-time': 'latest' });
  expect(await guard?.check(there)).toMatchObject({
    note: '/data/state-db holds other data, which is not replaced',
  });
  expect(await guard?.check(fakeHost([]))).toEqual({ is: 'ok' });
  const [setsAside] = await resources({ 'to-time': 'latest', 'set-aside': '' });
  expect(await setsAside?.check(there)).toEqual({ is: 'ok' });
  const onMount = fakeHost([
    [/ls -A/, 'PG_VERSION'],
    [/^mountpoint/, ''],
  ]);
  expect(await setsAside?.check(onMount)).toMatchObject({
    note: '/data/state-db holds other data and is a mount of its own, so it cannot be renamed',
  });
  const ours = fakeHost([[/ls -A/, 'PG_VERSION']], { read: async () => Buffer.from('latest\n') });
  expect(await guard?.check(ours)).toEqual({ is: 'ok' });
});

test('data that a synchronizer has written are not of a recovery any more, whatever they are marked with', async () => {
  const [received] = await dataResources({ 'to-time': 'latest', 'set-aside': '' });
  expect(received?.name).toBe('the recovered data directory is /data/state-db');
  const seen = (sync?: Partial<ContainerState>) =>
    received?.check(
      fakeHost([], {
        read: async () => Buffer.from('latest\n'),
        stat: async () => ({ ...rootsFile, modified: Date.parse('2024-01-01T00:00:00Z') / 1000 }),
        container: async () => sync && { ...runningContainer, ...sync },
      }),
    );
  expect(await seen()).toEqual({ is: 'ok' });
  // Of the server that the recovery has stopped.
  const stopped = { running: false, status: 'exited' };
  expect(await seen({ ...stopped, startedAt: '2023-12-31T00:00:00Z' })).toEqual({ is: 'ok' });
  expect(await seen({ ...stopped, startedAt: '0001-01-01T00:00:00Z' })).toEqual({ is: 'ok' });
  for (const sync of [{}, stopped])
    expect(await seen({ ...sync, startedAt: '2024-01-01T01:00:00Z' })).toMatchObject({
      note: 'it is not here',
    });
});

/** What the host reads of an offer of its repository. */
const offerTo = (time: string) => async (path: string) =>
  Buffer.from(path.endsWith('/lists/source') ? '/data/backup/state-db\n' : `${time}\n`);

test('an offer of all that arrived is made again when more has arrived', async () => {
  const of = async (time: string, newer: string) => {
    const all = await resources({ 'to-time': time }, { changes: backup, group: 'backup' });
    const offered = all.find(({ name }) => name.endsWith('is verified'));
    return offered?.check(fakeHost([[/find/, newer]], { read: offerTo(time), stat: async () => rootsFile }));
  };
  expect(await of('latest', '')).toEqual({ is: 'ok' });
  expect(await of('latest', '/wals/1')).toMatchObject({ note: 'newer changes have reached the backup host' });
  expect(await of('2026-01-02T03:04:05Z', '/wals/1')).toEqual({ is: 'ok' });
});

test('when the databases are stopped, what they wrote last is offered before the server fetches it', async () => {
  const onBackup = { changes: backup, group: 'backup' } as const;
  const [renewed, ...more] = await dataResources({ 'to-time': 'latest' }, onBackup);
  expect(more).toEqual([]);
  const newer = (found: string) =>
    renewed?.check(fakeHost([[/find/, found]], { read: offerTo('latest'), stat: async () => rootsFile }));
  expect(await newer('')).toEqual({ is: 'ok' });
  expect(await newer('/streaming/1')).toMatchObject({ note: 'newer changes have reached the backup host' });
  expect(await renewed?.check(fakeHost([]))).toMatchObject({ is: 'unknown' });
  expect(await dataResources({ 'to-time': '2026-01-02T03:04:05Z' }, onBackup)).toEqual([]);
});

test('what uses the database server is stopped, and no other synchronizer may run', async () => {
  const all = await resources({ 'to-time': 'latest', 'set-aside': '' });
  const stop = all.find(({ name }) => name.includes('do not run'));
  const host = fakeHost([], {
    container: async (name) => (name === 'prover' ? undefined : runningContainer),
  });
  expect(await stop?.check(host)).toMatchObject({ change: [{ command: 'docker stop sync state-db' }] });
  const [received] = await dataResources({ 'to-time': 'latest', 'set-aside': '' });
  expect(await received?.check(fakeHost([]))).toMatchObject({ note: 'it is not here' });
  expect(received?.everyHost?.name).toBe('no other synchronizer runs');
});

test('the files are served to the server alone, and only when they are of that time', async () => {
  const all = await resources({ 'to-time': '2026-01-02T03:04:05Z' }, { changes: backup, group: 'backup' });
  const offered = all.find(({ name }) => name.endsWith('is verified'));
  const seen = (read: (path: string) => Promise<Buffer | undefined>) =>
    offered?.check(fakeHost([], { read, stat: async () => rootsFile }));
  expect(await seen(offerTo('2026-01-02T03:04:05Z'))).toEqual({ is: 'ok' });
  expect(await seen(offerTo('latest'))).toMatchObject({ note: 'it is not verified yet' });
  // Of a version before: an offer that does not name its source, or a whole data directory.
  const before = async (path: string) =>
    path.endsWith('/source') ? undefined : Buffer.from('2026-01-02T03:04:05Z\n');
  expect(await seen(before)).toMatchObject({ note: 'it is not verified yet' });
  const served = all.find(({ name }) => name.includes('fetched'));
  expect(await served?.check(fakeHost([]))).toMatchObject({ note: 'they are not served' });
  // The programs are those of this version, whatever the last deploy has left there.
  const programs = all.map(({ name }) => name);
  expect(programs).toContain('file /usr/local/lib/rpc-node/recovery');
  expect(programs.indexOf('file /usr/local/lib/rpc-node/recovery')).toBeLessThan(
    programs.findIndex((name) => name.endsWith('is verified')),
  );
  const configuration = await all.find(({ name }) => name.includes('rsyncd'))?.check(fakeHost([]));
  expect(JSON.stringify(configuration)).toContain('hosts allow = 172.30.77.11');
});

test('a drill that passed before proves nothing: each one is run', async () => {
  const [drill] = await resources({ 'to-time': 'latest', drill: '' }, { changes: backup, group: 'backup' });
  const sent: string[] = [];
  // The script of an earlier drill is there, and with `passed` its result.
  const host = (passed: boolean) =>
    fakeHost([[/./, 'ActiveState=inactive']], {
      stat: async () => (passed ? rootsFile : undefined),
      unit: async () => stoppedUnit,
      read: async () => Buffer.from('exec recovery drill\n'),
      run: shell(async (_, { stdin }) => {
        sent.push(String(stdin));
        return new Output(0, Buffer.from('ActiveState=inactive\n'), '');
      }),
    });
  expect(await drill?.check(host(true))).toEqual(drift('it was not run yet'));
  await drill?.work?.(host(true));
  expect(sent).toEqual([expect.stringContaining('recovery drill /data/backup/drill latest')]);
  expect(drill?.provesItself).toBe(true);
  await expect(drill?.work?.(host(false))).rejects.toThrow('it did not pass');
  expect(sent).toHaveLength(2);
});

test('what is in the way is asked before the backup host copies anything, and room before the containers are stopped', async () => {
  const context = { ...(await contextOf({ changes: backup })), given: { 'to-time': 'latest' } };
  const [first] = await recoveryTarget.resources(context);
  const there = fakeHost([[/ls -A/, 'PG_VERSION']]);
  expect(await first?.check(there)).toMatchObject({
    note: '/data/state-db holds other data, which is not replaced',
  });
  expect(await recoveryTarget.resources({ ...context, given: {} })).toEqual([]);

  const order = await names({ 'to-time': 'latest' });
  const room = order.indexOf('there is room for the recovered databases');
  expect(room).toBeGreaterThan(0);
  expect(room).toBeLessThan(order.findIndex((name) => name.includes('do not run')));
});

test.each<[what: string, answer: Answer, password: boolean, words: string]>([
  ['room', '1000 2000', true, 'ok'],
  [
    'no room',
    '3000000 1048576',
    true,
    'they take 2.9 MiB, and 1.0 MiB are free on the file system of /data/state-db',
  ],
  [
    'a password that is refused',
    { exitCode: 5, stderr: '@ERROR: auth failed' },
    true,
    'the backup host does not send them: @ERROR: auth failed',
  ],
  [
    'a backup host of another authority',
    {
      exitCode: 12,
      stderr: 'verify error:num=20:unable to get local issuer certificate\nrsync error: code 12',
    },
    true,
    'the backup host does not send them: verify error:num=20:unable to get local issuer certificate',
  ],
  [
    'no encryption served yet',
    { exitCode: 12, stderr: 'BIO_connect:Connection refused\nrsync error: code 12' },
    true,
    'unknown until the files of the recovery can be fetched',
  ],
  ['nothing served yet', { exitCode: 10 }, true, 'unknown until the files of the recovery can be fetched'],
  ['no password yet', { exitCode: 1 }, false, 'unknown until the files of the recovery can be fetched'],
])('the room for a recovery is known before anything is stopped: %s', async (_, answer, password, words) => {
  const room = (await resources({ 'to-time': 'latest' })).find(({ name }) =>
    name.startsWith('there is room'),
  );
  const host = fakeHost([[/rsync/, answer]], { stat: async () => (password ? rootsFile : undefined) });
  expect(room && describeVerdict(await room.check(host))).toBe(words);
});

test('with tls the files go through stunnel, and their server is verified by the authority', async () => {
  const { changes } = await authorityFiles();
  const more = { changes: [...backup, ...changes] };
  const offered = await resources({ 'to-time': 'latest' }, { ...more, group: 'backup' });
  const content = async (name: string) =>
    JSON.stringify(await offered.find((each) => each.name.endsWith(name))?.check(fakeHost([])));
  expect(await content('rsyncd.conf')).toContain('hosts allow = 127.0.0.1\\n');
  expect(await content('stunnel.conf')).toContain('accept = 8730\\nconnect = 127.0.0.1:8731');
  const certificate = offered.find(
    ({ name }) => name === 'the backup host has a certificate for the recovery',
  );
  const absent = fakeHost([[/^sed/, { exitCode: 1 }]]);
  expect(await certificate?.check(absent)).toMatchObject({
    differences: [{ what: 'certificate', wanted: expect.stringContaining('10.0.0.7, backup-1') }],
  });
  let sent = '';
  const writer = fakeHost([], {
    run: shell(async (_, { stdin }) => {
      sent = String(stdin instanceof Secret ? stdin.reveal() : stdin);
      return new Output(0, Buffer.from(''), '');
    }),
  });
  await certificate?.work?.(writer);
  expect(sent).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  expect(await certificate?.check(fakeHost([[/^sed/, sent.slice(sent.indexOf('-----BEGIN CERT'))]]))).toEqual(
    {
      is: 'ok',
    },
  );
  expect(await certificate?.check(fakeHost([[/^sed/, 'no certificate']]))).toMatchObject({
    note: 'it is no certificate in PEM',
  });
  const served = offered.find(({ name }) => name === 'the files of the recovery can be fetched');
  expect(JSON.stringify(await served?.check(fakeHost([])))).toContain(
    'systemctl stop rpc-node-recovery-serve.service',
  );
  const received = await resources({ 'to-time': 'latest' }, more);
  expect(received.map(({ name }) => name)).toContain('file /etc/rpc-node/tls/ca.pem');
  const context = { ...(await contextOf(more)), given: {} };
  expect(connectionToOffer(context)).toContain('-verify_ip 10.0.0.7 -CAfile /etc/rpc-node/tls/ca.pem');
  expect(connectionToOffer({ ...context, ...(await contextOf({ changes: backup })) })).toBe('');
});
