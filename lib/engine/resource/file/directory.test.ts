import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { giveAccessList } from '../../file/testing/other-users.ts';
import type { Stat } from '../../host/host.ts';
import { makeDirectory } from '../../host/step.ts';
import { scriptOf } from '../../host/step-script.ts';
import { directoryForAll } from '../../host/testing/local-connection.ts';
import { ok } from '../resource.ts';
import { fakeHost, rootsFile } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { thisMachine } from '../testing/this-machine.ts';
import { directory } from './directory.ts';

const host = await thisMachine();
const base = directoryForAll();
chmodSync(base, 0o755);
let path: string;
let count = 0;
beforeEach(() => {
  count += 1;
  path = join(base, `directory ${count}`);
});

test('a missing one is created with its parents', async () => {
  const deep = join(path, 'a', 'b');
  const wanted = directory(deep).mode(0o700);
  expect(await wanted.check(host)).toMatchObject({
    is: 'drift',
    differences: [{ what: 'directory', was: 'absent', wanted: 'directory, 0700 root:root' }],
  });
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  expect([statSync(deep).mode & 0o7777, statSync(path).mode & 0o7777]).toEqual([0o700, 0o755]);
});

test('mode, owner and group are set, and its content stays', async () => {
  mkdirSync(path);
  writeFileSync(join(path, 'kept'), '', { mode: 0o604 });
  chmodSync(path, 0o777);
  const wanted = directory(path).mode(0o1750).owner(70001).group('daemon');
  expect(await wanted.check(host)).toMatchObject({
    is: 'drift',
    differences: [
      { what: 'mode', was: '0777', wanted: '1750' },
      { what: 'owner', was: '0', wanted: '70001' },
      { what: 'group', was: 'root', wanted: 'daemon' },
    ],
  });
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  const kept = statSync(join(path, 'kept'));
  expect([kept.uid, kept.mode & 0o7777]).toEqual([0, 0o604]);
});

test('a link to a directory counts as a directory, and stays a link', async () => {
  mkdirSync(`${path}.target`, { mode: 0o755 });
  symlinkSync(`${path}.target`, path);
  expect(await directory(path).check(host)).toEqual(ok);
  const wanted = directory(path).mode(0o700);
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  expect(readlinkSync(path)).toBe(`${path}.target`);
});

test.each(['file', 'dangling link'])('a %s in its place is refused and left unchanged', async (what) => {
  if (what === 'file') writeFileSync(path, 'precious');
  else symlinkSync(`${path}.gone`, path);
  const wanted = directory(path);
  expect(await wanted.check(host)).toMatchObject({
    is: 'drift',
    differences: [{ was: what === 'file' ? 'a file' : 'a link' }],
  });
  await expect(applyDrift(host, wanted)).rejects.toThrow('a directory has to be there');
});

test('a folder that is made below one with set-group-ID, or has it, gets exactly the wanted mode', async () => {
  mkdirSync(path);
  chmodSync(path, 0o2755);
  for (const mode of [0o755, 0o2750, 0o700]) {
    const below = directory(join(path, 'below')).mode(mode);
    await applyDrift(host, below);
    expect(await below.check(host)).toEqual(ok);
  }
});

test('below a folder whose access list lets a user write into new folders, that user cannot', async () => {
  mkdirSync(path);
  giveAccessList(path, 'default', 1000, 0o755);
  // The bits of the group are the most that a user of the list may do.
  mkdirSync(join(path, 'open'));
  chmodSync(join(path, 'open'), 0o775);
  const writes = (name: string) => {
    const attempt = ['--reuid=1000', '--regid=1000', '--clear-groups', 'touch', join(path, name, 'theirs')];
    try {
      execFileSync('setpriv', attempt, { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  };
  expect(writes('open')).toBe(true);
  await applyDrift(host, directory(join(path, 'p/q/r')));
  await applyDrift(host, directory(join(path, 'p/private/')).mode(0o700));
  const made = ['p', 'p/q', 'p/q/r', 'p/private'];
  expect(made.map((name) => statSync(join(path, name)).mode & 0o7777)).toEqual([0o755, 0o755, 0o755, 0o700]);
  expect(made.filter(writes)).toEqual([]);
});

describe('a folder of the system', () => {
  const rootsFolder: Stat = { ...rootsFile, type: 'directory', mode: 0o755 };
  const is = (stat: Stat, links: Record<string, string> = {}) =>
    fakeHost([], {
      stat: async (asked) => (links[asked] ? { ...stat, type: 'link', target: links[asked] } : stat),
    });

  test.each([
    '/etc',
    '/usr',
    '/tmp',
    '/home',
    '/var',
    '/bin',
    '/var/lib',
    '/usr/local',
    '//etc/',
    '/etc/ssh/..',
    '/root',
  ])('the mode and the owner of %s stay', async (folder) => {
    expect(await directory(folder).check(is(rootsFolder))).toEqual(ok);
    for (const other of [directory(folder).mode(0o700), directory(folder).owner('postgres')]) {
      const verdict = await other.check(is(rootsFolder));
      expect(verdict).toMatchObject({
        note: expect.stringMatching(
          /^\/.* is a folder of the system, and its (mode|owner) would change: .* -> /,
        ),
        change: { hint: expect.stringContaining('name a folder of your own below it') },
      });
    }
  });

  test('the top folder is refused always', async () => {
    for (const folder of ['/', '//', '/.', '/srv/..'])
      expect(await directory(folder).check(is(rootsFolder))).toMatchObject({
        note: `${folder} is the top folder of the host, and is left as it is`,
      });
  });

  test('a link to one is refused', async () => {
    const links = { '/srv/a': 'b', '/srv/b': '../etc' };
    expect(await directory('/srv/a').mode(0o700).check(is(rootsFolder, links))).toMatchObject({
      note: '/srv/a, which leads to /etc, is a folder of the system, and its mode would change: 0755 -> 0700',
    });
    expect(
      await directory('/srv/a')
        .mode(0o700)
        .check(is(rootsFolder, { '/srv/a': '/' })),
    ).toMatchObject({
      note: '/srv/a is the top folder of the host, and is left as it is',
    });
    const circle = is(rootsFolder, { '/srv/a': 'a' });
    expect(await directory('/srv/a').check(circle)).toEqual(ok);
  });

  test('a missing one is made, and others are changed', async () => {
    expect(await directory('/media').mode(0o700).check(fakeHost([]))).toMatchObject({
      change: [{ do: 'directory' }],
    });
    for (const folder of ['/srv/a', '/data', '/var/www', '/var/lib/a', '/homes'])
      expect(await directory(folder).mode(0o700).check(is(rootsFolder))).toMatchObject({
        change: [{ do: 'directory' }],
      });
  });

  test('of this machine, the check refuses it', async () => {
    expect(await directory('/etc').mode(0o700).check(host)).toMatchObject({
      change: { hint: expect.any(String) },
    });
    expect(await directory('/').check(host)).toMatchObject({ change: { hint: expect.any(String) } });
    symlinkSync('/etc', path);
    expect(await directory(path).mode(0o700).check(host)).toMatchObject({
      change: { hint: expect.any(String) },
    });
  });

  test('behind a link on the way, the change refuses it', () => {
    mkdirSync(path);
    symlinkSync('/', join(path, 'link'));
    // Nothing is changed, even if it is not refused.
    const safe = ['chown', 'chmod', 'mkdir'].map((name) => `${name}() { echo ${name} "$@"; }\n`).join('');
    const run = (folder: string) => {
      const step = makeDirectory(folder, { mode: 0o700 });
      return spawnSync('sh', ['-c', safe + scriptOf(step).text], { encoding: 'utf8' });
    };
    for (const name of ['', 'etc', 'usr/bin', 'usr/lib', 'var/log', 'proc/sys', 'tmp']) {
      const { status, stdout, stderr } = run(join(path, 'link', name));
      expect([status, stdout, stderr]).toEqual([
        1,
        '',
        expect.stringMatching(/ is a folder of the system\n$/),
      ]);
    }
    expect(run(path)).toMatchObject({ status: 0, stdout: `chown root:root ${path}\nchmod 00700 ${path}\n` });
  });
});
