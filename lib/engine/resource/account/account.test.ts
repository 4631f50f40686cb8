import { describe, expect, test } from 'vitest';
import type { Resource } from '../resource.ts';
import { fakeHost } from '../testing/fake-host.ts';
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
          command: 'useradd --create-home --user-group --shell /bin/bash --uid 2000 --groups docker,operators anna',
        },
      ],
    });
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
    expect(() => authorizedKey('deploy', `ssh-ed25519 ${key}\nssh-ed25519 ${key}`)).toThrow('a key is one line');
  });
});
