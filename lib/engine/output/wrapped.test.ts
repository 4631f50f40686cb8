import { describe, expect, test } from 'vitest';
import { wrapped, wrappedFor } from './wrapped.ts';

const hint =
  '  set docker_root.temporary_disk: true where Docker may lose all its data, or name another disk: docker_root: { disk: … }';

describe('a line on a terminal', () => {
  test('breaks at blanks, and goes on with a hanging indent', () => {
    expect(wrapped(hint, 80)).toEqual([
      '  set docker_root.temporary_disk: true where Docker may lose all its data, or',
      '      name another disk: docker_root: { disk: … }',
    ]);
    expect(wrapped(hint, 40)).toEqual([
      '  set docker_root.temporary_disk: true',
      '      where Docker may lose all its',
      '      data, or name another disk:',
      '      docker_root: { disk: … }',
    ]);
  });

  test('goes on below its second column, where that leaves half of the width', () => {
    const line = 'rpc-1  unreachable: the connection was refused';
    expect(wrapped(line, 30)).toEqual(['rpc-1  unreachable: the', '       connection was refused']);
    expect(wrapped(`a-name-of-many-letters  ${line}`, 40)[1]).toMatch(/^ {4}\S/);
  });

  test('is measured in columns: wide characters take two, colours none', () => {
    const red = (text: string) => `\u001b[31m${text}\u001b[39m`;
    expect(wrapped('数据库 伺服器 数据库 伺服器', 20)).toEqual(['数据库 伺服器 数据库', '    伺服器']);
    expect(wrapped(red('one two three'), 13)).toEqual([red('one two three')]);
    expect(wrapped(red('one two three'), 12)).toEqual(['\u001b[31mone two', '    three\u001b[39m']);
  });

  test.each([
    'npx zx playbooks/deploy.mjs --inventory mainnet',
    'npx zx playbooks/secrets.mjs --inventory mainnet rotate --done',
    'npx zx playbooks/deploy.mjs --plan FILE',
    'docker logs --tail 100 json-rpc',
    'command exited with 1: test -f /etc/a && cat /etc/a',
    "npx zx playbooks/deploy.mjs -C '/srv/a folder' --inventory mainnet",
    'ssh-keyscan -p 2222 -t ed25519 192.0.2.11 >> ~/.ssh/known_hosts',
    'ssh-copy-id -p 2222 root@192.0.2.11',
    'ssh-keygen && ssh-copy-id root@192.0.2.11',
    'eval "$(ssh-agent)" && ssh-add /srv/keys/id_ed25519',
    'ssh 192.0.2.11 sudo date -u -s @$(date +%s)',
    'openssl pkey -in KEY -out NEW',
    'age-keygen -o FILE',
    'docker buildx imagetools inspect NAME',
    '`hostname -I on the host itself`',
    "'/srv/a folder with blanks/and-a-name'",
    '{"jsonrpc": "2.0", "error": {"code": -32000}}',
    '/srv/inventories/of-a-team/with-a-long-name/mainnet.yaml:120:14',
    'https://example.org/snapshots/mainnet/state_db.sql.tar.gz?version=42',
  ])('never breaks %s', (copied) => {
    for (const width of [20, 40, 80]) {
      const text = `the cause is one of many: ${copied}; then the run goes on with all of the other hosts`;
      expect(wrapped(text, width).some((line) => line.includes(copied))).toBe(true);
    }
  });

  test('keeps the blank at the end of a question', () => {
    expect(wrapped('make these changes on db-1, rpc-1? [y/N] ', 30).at(-1)).toBe('    rpc-1? [y/N] ');
  });

  test.each(['openssl makes no certificate of this', 'ssh cannot read its configuration for it'])(
    'breaks in a sentence about a program: %s',
    (sentence) => {
      expect(wrapped(sentence, 30).length).toBeGreaterThan(1);
    },
  );

  test('breaks in a sentence behind a command', () => {
    expect(wrapped('npx zx playbooks/x.mjs turns bare servers into nodes', 40)).toEqual([
      'npx zx playbooks/x.mjs turns bare',
      '    servers into nodes',
    ]);
  });

  test('keeps tabs and other blanks between words', () => {
    expect(wrapped('a\tb two\u00a0three and the end', 20)).toEqual([
      'a\tb two\u00a0three',
      '    and the end',
    ]);
  });

  test('loses nothing but blanks', () => {
    for (let width = 1; width < 130; width++) {
      const lines = wrapped(hint, width);
      expect(lines.map((line) => line.trim()).join(' ')).toBe(hint.trim());
      if (width > 35) for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
    }
  });
});

test('a text of several lines is as it was in a pipe', () => {
  const text = `a\n\n${hint}\n`;
  expect(wrappedFor(text, { isTTY: false, columns: 40 })).toBe(text);
  expect(wrappedFor(text, { isTTY: true, columns: 0 })).toBe(text);
  expect(wrappedFor(text, { isTTY: true, columns: 80 }).split('\n')).toHaveLength(5);
});
