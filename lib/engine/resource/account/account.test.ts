import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../../host/testing/local-connection.ts';
import { ok, type Resource } from '../resource.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { applyDrift, type TestHost } from '../testing/test-host.ts';
import { thisMachine } from '../testing/this-machine.ts';
import { authorizedKey } from './authorized-key.ts';
import { group } from './group.ts';
import { user } from './user.ts';

const passwd = 'root:x:0:0:root:/root:/bin/bash\ndeploy:x:1001:1001::/home/deploy:/bin/sh\n';
const groups = 'root:x:0:\ndocker:x:998:deploy,other\noperators:x:900:\n';
const key = 'AAAAC3NzaC1lZDI1NTE5AAAAIJxvLQ2y0k4fE6m3b7Wq1a9sT5uV8xYzAbCdEfGhIjKl';
const files: Record<string, string> = { '/etc/passwd': passwd, '/etc/group': groups };

const check = (resource: Resource, more: Record<string, string> = {}) =>
  resource.check(
    fakeHost([], {
      read: async (path) => {
        const text = { ...files, ...more }[path];
        return text === undefined ? undefined : Buffer.from(text);
      },
    }),
  );

describe('user', () => {
  test('an absent one is created with its groups', async () => {
    expect(await check(user('anna', { uid: 2000, groups: ['docker', 'operators'] }))).toMatchObject({
      differences: [{ what: 'user', was: 'absent', wanted: 'present' }],
      change: [
        {
          command:
            'useradd --create-home $(cut -d: -f1 /etc/group | grep -qxF anna && echo --gid anna || echo --user-group) --shell /bin/bash --uid 2000 --groups docker,operators anna',
        },
      ],
    });
  });

  test('its main group is the one of its name, which may be there', async () => {
    const root = temporaryDirectory();
    const accounts = { passwd: '', shadow: '', gshadow: '', group: 'anna:x:950:\nbert-old:x:951:\n' };
    for (const folder of ['etc', 'home']) mkdirSync(join(root, folder));
    for (const [name, text] of Object.entries(accounts)) writeFileSync(join(root, 'etc', name), text);
    for (const name of ['anna', 'bert']) {
      const seen = await check(user(name));
      const step = seen.is === 'drift' && Array.isArray(seen.change) ? seen.change[0] : undefined;
      const there = (step as { command: string }).command
        .replace('useradd', `useradd --prefix ${root}`)
        .replace('/etc/group', join(root, 'etc/group'));
      execFileSync('sh', ['-c', there]);
    }
    const lines = (name: string) =>
      readFileSync(join(root, 'etc', name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(':'));
    const groupOf = Object.fromEntries(lines('group').map(([name, , number]) => [number, name]));
    expect(lines('passwd').map(([name, , , main]) => [name, groupOf[main ?? '']])).toEqual([
      ['anna', 'anna'],
      ['bert', 'bert'],
    ]);
  });

  test('only what differs is changed, and other groups stay', async () => {
    expect(await check(user('deploy', { groups: ['docker', 'operators'] }))).toMatchObject({
      differences: [
        { what: 'shell', was: '/bin/sh', wanted: '/bin/bash' },
        { what: 'member of operators', was: 'no', wanted: 'yes' },
      ],
      change: [
        { command: 'usermod --shell /bin/bash deploy' },
        { command: 'usermod --append --groups operators deploy' },
      ],
    });
    expect(await check(user('deploy', { shell: '/bin/sh', groups: ['docker'] }))).toEqual({ is: 'ok' });
  });

  test('another number is refused, as files keep it', async () => {
    expect(await check(user('deploy', { uid: 5 }))).toMatchObject({
      note: 'user deploy has the number 1001, not 5',
      change: { hint: 'files keep the number of their owner: change both by hand, or correct the role' },
    });
  });

  test('a group that does not exist yet has to come first', async () => {
    expect(await check(user('deploy', { groups: ['nobody-made-it'] }))).toEqual({
      is: 'unknown',
      until: 'group nobody-made-it exists',
    });
  });
});

test('a group is created, and another number of one is refused', async () => {
  expect(await check(group('docker'))).toEqual({ is: 'ok' });
  expect(await check(group('tools', { gid: 950 }))).toMatchObject({
    change: [{ command: 'groupadd --gid 950 tools' }],
  });
  expect(await check(group('docker', { gid: 5 }))).toMatchObject({
    note: 'group docker has the number 998, not 5',
    change: { hint: 'files keep the number of their group: change both by hand, or correct the role' },
  });
});

describe('authorized key', () => {
  const path = '/home/deploy/.ssh/authorized_keys';

  test('a line with the key is accepted with other options and another comment, but not in a comment', async () => {
    const resource = authorizedKey('deploy', `ssh-ed25519 ${key} deploy@example.org`);
    expect(await check(resource, { [path]: `# ${key}\n` })).toMatchObject({ is: 'drift' });
    expect(await check(resource, { [path]: `restrict ssh-ed25519 ${key} other\n` })).toEqual({ is: 'ok' });
  });

  test('it waits for the user', async () => {
    expect(await check(authorizedKey('anna', `ssh-ed25519 ${key}`))).toEqual({
      is: 'unknown',
      until: 'user anna exists',
    });
  });

  test('what is no line of a .pub file is a mistake of the role', () => {
    expect(() => authorizedKey('deploy', 'ssh-ed25519')).toThrow('a key is one line of a .pub file');
    expect(() => authorizedKey('deploy', `ssh-ed25519 ${key}\nssh-ed25519 ${key}`)).toThrow(
      'a key is one line',
    );
  });

  describe('on this machine, for the user daemon', async () => {
    const real = await thisMachine();
    const daemon = 1;
    const wanted = authorizedKey('daemon', `ssh-ed25519 ${key}`);

    /** The host with a home of daemon's in a new folder, and what is in it. */
    function home(): { host: TestHost; keys: string } {
      const folder = temporaryDirectory();
      mkdirSync(join(folder, '.ssh'));
      for (const path of [folder, join(folder, '.ssh')]) chownSync(path, daemon, daemon);
      chmodSync(folder, 0o755);
      const accounts = Buffer.from(`daemon:x:${daemon}:${daemon}::${folder}:/bin/sh\n`);
      const read = async (path: string) => (path === '/etc/passwd' ? accounts : real.read(path));
      return { host: { ...real, read }, keys: join(folder, '.ssh/authorized_keys') };
    }

    test('the line follows the others, also after one without an end', async () => {
      const { host, keys } = home();
      await applyDrift(host, wanted);
      expect(await wanted.check(host)).toEqual(ok);
      writeFileSync(keys, 'other');
      await applyDrift(host, wanted);
      expect(readFileSync(keys, 'utf8')).toBe(`other\nssh-ed25519 ${key}\n`);
      expect(lstatSync(keys)).toMatchObject({ uid: daemon, mode: 0o100600 });
    });

    test('what is no file is refused by the check', async () => {
      const { host, keys } = home();
      execFileSync('mkfifo', [keys]);
      await expect(applyDrift(host, wanted)).rejects.toMatchObject({
        message: `${keys} is neither file, directory nor link, and a file has to be there`,
      });
      rmSync(keys);
      mkdirSync(keys);
      await expect(applyDrift(host, wanted)).rejects.toThrow(
        `${keys} is a directory, and a file has to be there`,
      );
    });

    test('a pipe that comes after the check, or behind a link, does not hold the change', async () => {
      const { host, keys } = home();
      const seen = await wanted.check(host);
      execFileSync('mkfifo', [keys]);
      await expect(applyDrift(host, { ...wanted, check: async () => seen })).rejects.toThrow(
        `${keys} is not a regular file`,
      );
      execFileSync('mv', [keys, `${keys}.pipe`]);
      symlinkSync(`${keys}.pipe`, keys);
      await expect(applyDrift(host, wanted)).rejects.toThrow(`${keys} is not a regular file`);
    });
  });
});
