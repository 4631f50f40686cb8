import { expect, test } from 'vitest';
import { directory, download, file, gitCheckout, group, schedule, user } from './kinds.ts';

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
