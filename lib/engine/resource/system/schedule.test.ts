import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../host/testing/local-connection.ts';
import { drift } from '../resource.ts';
import { fakeHost, rootsFile, stoppedUnit } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { type Schedule, schedule } from './schedule.ts';

const daily = { every: 86400, command: 'true', description: 'backup' };

test.each([
  ['/bin/x --at "a b"', '"/bin/x --at \\"a b\\""'],
  ['date +%s > $HOME/\\n', '"date +%%s > $$HOME/\\\\n"'],
])('a shell line is one word of a unit, with nothing left for systemd to read: %s', async (command, word) => {
  expect(await schedule('backup', { ...daily, command }).check(fakeHost([]))).toMatchObject({
    differences: expect.arrayContaining([
      { what: 'content', was: '', wanted: expect.stringContaining(`\nExecStart=/bin/sh -c ${word}\n`) },
    ]),
  });
});

test('a command of several lines is refused', () => {
  expect(() => schedule('backup', { ...daily, command: 'a\nb' })).toThrow('one line');
});

/** What `systemd-analyze security` says of the unit of a schedule: 0 is best, 10 worst. */
async function exposure(more: Pick<Schedule, 'writes' | 'sandbox'>): Promise<number> {
  const verdict = await schedule('backup', { ...daily, ...more }).check(fakeHost([]));
  const texts = verdict.is === 'drift' ? verdict.differences.map(({ wanted }) => String(wanted)) : [];
  const text = texts.find((each) => each.includes('ExecStart=')) ?? '';
  const file = join(temporaryDirectory(), 'backup.service');
  writeFileSync(file, text);
  const said = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', file], {
    encoding: 'utf8',
  });
  return Number(/exposure level for backup\.service: ([\d.]+)/.exec(said.stdout)?.[1]);
}

test.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)(
  'a command runs in a sandbox, unless it is lifted',
  async () => {
    expect(await exposure({})).toBeLessThanOrEqual(3);
    expect(await exposure({ writes: ['/srv/reports', '/var/lib/x'] })).toBeLessThanOrEqual(3);
    expect(await exposure({ sandbox: false })).toBeGreaterThan(9);
  },
);

test('a folder that is no absolute path in one line is refused', async () => {
  for (const folder of ['reports', '/srv/a\nb', ''])
    expect(() => schedule('backup', { ...daily, writes: [folder] })).toThrow(
      `schedule "backup": "${folder}" is not an absolute path in one line`,
    );
});

test('what a command may change, and needs, is refused without a sandbox', () => {
  for (const more of [{ needs: ['network'] }, { writes: [] }] as const)
    expect(() => schedule('backup', { ...daily, ...more, sandbox: false })).toThrow(
      'schedule "backup": writes and needs are of the sandbox that sandbox: false lifts',
    );
});

test.each([
  [
    [],
    ['PrivateNetwork=yes', 'PrivateDevices=yes', 'MemoryDenyWriteExecute=yes', 'SystemCallFilter=~@setuid'],
  ],
  [['network'], ['RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK', 'PrivateDevices=yes']],
  [['disks'], ['DeviceAllow=block-* r', 'PrivateNetwork=yes']],
  [['users'], ['CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_FOWNER CAP_SETUID CAP_SETGID']],
  [['docker'], ['InaccessiblePaths=-/run/systemd/private -/run/dbus/system_bus_socket']],
  [['systemd'], ['InaccessiblePaths=-/run/docker.sock -/run/containerd/containerd.sock']],
] as const)('of a sandbox with the needs %j the rest is taken away', async (needs, lines) => {
  const verdict = await schedule('backup', { ...daily, needs }).check(fakeHost([]));
  const texts = verdict.is === 'drift' ? verdict.differences.map(({ wanted }) => String(wanted)) : [];
  const unit = texts.find((each) => each.includes('ExecStart='))?.split('\n');
  expect(unit).toEqual(expect.arrayContaining([...lines]));
});

test('a name that is not a unit name is refused', () => {
  expect(() => schedule('../x', daily)).toThrow('not a name');
  expect(() => schedule('-x', daily)).toThrow('not a name');
});

test('units that systemd has not loaded yet are drift, although their files are right', async () => {
  const backup = schedule('backup', daily);
  const written = new Map<string, string>();
  const host = fakeHost(
    [
      [/systemctl start/, { exitCode: 90 }],
      [/^systemctl/, ''],
    ],
    {
      unit: async () => ({ ...stoppedUnit, load: 'not-found' }),
      stat: async (path) => (written.has(path) ? rootsFile : undefined),
      compare: async (path, sha256) =>
        written.get(path) === sha256 ? { same: true } : { same: false, content: undefined },
      place: (step) => {
        if (step.do === 'write')
          written.set(step.path, createHash('sha256').update(String(step.content)).digest('hex'));
      },
    },
  );
  await expect(applyDrift(host, backup)).rejects.toThrow('backup.timer did not start');
  expect(await backup.check(host)).toMatchObject(drift('systemd has not read its units yet'));
});
