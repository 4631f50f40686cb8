import { expect, test } from 'vitest';
import { describeUnmet, describeVerdict, drift } from '../resource.ts';
import { engineAnswer } from '../testing/engine-answer.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { dockerRoot, oldCopyIsRemoved, unfinishedMove } from './docker-root.ts';

/** Of an engine whose data is where a new one has it. */
const atFirst = engineAnswer({ place: '/var/lib/docker\n/var' });

test('an interrupted move is reported before anything else', async () => {
  const host = fakeHost([], { stat: async () => ({}) as never });
  const unfinished = drift("a move of docker's data was interrupted, and has to be finished");
  expect(await unfinishedMove('p').check(host)).toEqual(unfinished);
  expect(await dockerRoot({ product: 'p', root: '/data/docker', mountPoint: '/data' }).check(host)).toEqual(
    unfinished,
  );
});

test('the old copy is reported with the command that removes it', async () => {
  const host = fakeHost([[/old-copy/, '/var/lib/docker\n']]);
  const reminder = oldCopyIsRemoved('p');
  expect(describeUnmet(reminder, await reminder.check(host))).toBe(
    'it is still at /var/lib/docker\nwhen all is well, free its room: find /var/lib/docker -mindepth 1 -delete',
  );
});

test('no move starts with an engine that does not answer, or over foreign data', async () => {
  const move = dockerRoot({ product: 'p', root: '/data/docker', mountPoint: '/data' });
  const rsync = { package: async () => ({ installed: true, version: '3' }) };
  const tools = [/command -v/, ''] as const;
  await expect(applyDrift(fakeHost([tools], rsync), move)).rejects.toMatchObject({
    message: 'the docker engine does not answer',
    hint: 'see systemctl status docker and journalctl -u docker',
  });
});

test('a move that cannot succeed is refused by the check, with the cause and what to do', async () => {
  const move = dockerRoot({ product: 'p', root: '/data/docker', mountPoint: '/data' });
  const unit = { unit: async () => ({ load: 'loaded', active: 'active' }) as never };
  const now = [/^systemctl is-active/, atFirst] as const;
  const obstacle = [
    / docker-root-obstacles \/var\/lib\/docker/,
    '/data is mounted read-only\nmount it read-write\n',
  ] as const;
  const host = fakeHost([[/^mountpoint/, ''], now, obstacle], unit);
  expect(describeVerdict(await move.check(host))).toBe('/data is mounted read-only');
  await expect(applyDrift(host, move)).rejects.toMatchObject({
    message: '/data is mounted read-only',
    hint: 'mount it read-write',
  });
  const free = fakeHost([[/^mountpoint/, ''], now, [/ docker-root-obstacles \/var\/lib\/docker/, '']], unit);
  expect(describeVerdict(await move.check(free))).toBe('docker root: /var/lib/docker -> /data/docker');
});

test('a move installs rsync first, by a step that the plan shows', async () => {
  const move = dockerRoot({ product: 'p', root: '/data/docker', mountPoint: '/data' });
  const host = fakeHost(
    [
      [/^mountpoint/, ''],
      [/^systemctl is-active/, atFirst],
      [/^sh -s --/, ''],
      [/command -v dpkg-query/, ''],
      [/apt/, ''],
    ],
    { unit: async () => ({ load: 'loaded', active: 'active' }) as never },
  );
  expect(await move.check(host)).toMatchObject({
    change: [{ do: 'run', command: expect.stringMatching(/^# apt-get install rsync\n/) }],
  });
});

test('settings of the engine that are no JSON are reported by the check', async () => {
  const move = dockerRoot({ product: 'p', root: '/data/docker', mountPoint: '/data' });
  const host = fakeHost(
    [
      [/^mountpoint/, ''],
      [/^systemctl is-active/, atFirst],
      [/ docker-root-obstacles /, ''],
    ],
    {
      unit: async () => ({ load: 'loaded', active: 'active' }) as never,
      read: async (path) => (path === '/etc/docker/daemon.json' ? Buffer.from('{ no json') : undefined),
    },
  );
  expect(describeVerdict(await move.check(host))).toMatch('/etc/docker/daemon.json');
});
