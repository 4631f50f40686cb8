import { expect, test } from 'vitest';
import * as kinds from './kinds.ts';

const byName: Readonly<Record<string, unknown>> = { ...kinds };
const { directory, download, file, gitCheckout, group, schedule, user } = kinds;

// As a team's own role writes them, which no compiler checks.
const made = (kind: unknown, ...words: readonly unknown[]) =>
  (kind as (...words: readonly unknown[]) => unknown)(...words);

test.each([
  [file, ['/etc/motd', { content: 'x' }], "write file('/etc/motd').content(…).mode(…)"],
  [directory, ['/srv/keys', { mode: 0o700 }], "write directory('/srv/keys').mode(…).owner(…)"],
  [user, ['deploy', { grups: ['docker'] }], 'user deploy has no setting grups: did you mean groups?'],
  [group, ['operators', { gdi: 5 }], 'group operators has no setting gdi: did you mean gid?'],
  [
    schedule,
    ['clean', { every: 60, command: 'true', description: 'x', write: ['/srv'] }],
    'schedule clean has no setting write: did you mean writes?',
  ],
  [
    gitCheckout,
    ['/opt/tools', { repository: 'https://git.example/t.git', tag: 'v1' }],
    'checkout /opt/tools has no setting tag: known: repository, ref',
  ],
  [
    download,
    [{ url: 'http://x.example/y', path: '/y', sha: 'a'.repeat(64) }],
    'download to /y has no setting sha: known: url, shown, path, sha256, keys',
  ],
  [download, [{ url: 'http://x.example/y', path: '/y' }], 'download to /y: sha256 is not a SHA-256'],
])('what a resource would not look at is refused: %o %j', (kind, words, message) => {
  expect(() => made(kind, ...words)).toThrow(message);
});

test.each<[kind: string, words: readonly unknown[], message: string]>([
  ['user', [undefined], 'user: name is undefined, and has to be text'],
  ['group', [undefined], 'group: name is undefined'],
  ['authorizedKey', [undefined, 'ssh-ed25519 AAAA'], 'authorizedKey: user is undefined'],
  ['file', [undefined], 'file: path is undefined'],
  ['directory', [undefined], 'directory: path is undefined'],
  ['jsonFile', [undefined, {}], 'jsonFile: path is undefined'],
  ['line', ['/etc/x', undefined], 'line: text is undefined'],
  ['noLine', ['/etc/x', undefined], 'noLine: text is undefined'],
  ['link', ['/etc/x', undefined], 'link: target is undefined'],
  ['mount', ['/data', undefined], 'mount: device is undefined'],
  ['dockerImage', [undefined], 'dockerImage: reference is undefined'],
  ['timezone', [undefined], 'timezone: zone is undefined'],
  ['service', [undefined], 'service: name is undefined'],
  ['stoppedService', [undefined], 'stoppedService: name is undefined'],
  ['sysctl', ['vm.swappiness', undefined], 'sysctl: value is undefined'],
  ['packages', ['tmux', 5], 'packages: name is 5, and has to be text'],
])('what is no text is refused: %s %j', (kind, words, message) => {
  expect(() => made(byName[kind], ...words)).toThrow(message);
});

test.each([
  [600, '/srv/x: mode 600 is 1130; write 0o600 for 0600'],
  [755, 'write 0o755 for 0755'],
  [1777, 'write 0o1777 for 01777'],
  ['0644', '/srv/x: 0644 is no mode; write one such as 0o644'],
  [-1, 'is no mode'],
  [0o10000, 'is no mode'],
])('a mode that was not meant is refused: %j', (mode, message) => {
  for (const kind of [file, directory]) expect(() => kind('/srv/x').mode(mode as number)).toThrow(message);
});

test.each([0o400, 0o440, 0o600, 0o640, 0o644, 0o700, 0o755, 0o777, 0o1777, 0o2750, 0o4755])(
  'mode %o is taken',
  (mode) => {
    expect(directory('/srv/x').mode(mode).name).toBe('directory /srv/x');
  },
);
