import { expect, test } from 'vitest';
import { parseOptions } from './options.ts';

const roles = ['preflight', 'time-sync', 'docker'];

test('defaults', () => {
  expect(parseOptions([], roles)).toEqual({
    inventory: undefined,
    check: false,
    limit: undefined,
    roles: [],
    forks: 25,
    askBecomePass: false,
    verbose: false,
    help: false,
  });
});

test('a flag does not swallow the word behind it', () => {
  expect(() => parseOptions(['--check', 'time-sync'], roles)).toThrow('unexpected word "time-sync"');
});

test.each([
  [['--chekc'], 'unknown option "--chekc"', 'did you mean --check?'],
  [['--zzz'], 'unknown option "--zzz"', 'see --help'],
  [['--role', 'time-snyc'], 'unknown role "time-snyc"', 'did you mean time-sync?'],
  [['--forks', '0'], '--forks 0: must be a whole number from 1 to 9999', undefined],
  [['--forks', '1e3'], '--forks 1e3: must be a whole number from 1 to 9999', undefined],
  [['--limit'], "Option '-l, --limit <value>' argument missing", 'see --help'],
  [['-x'], "Unknown option '-x'", 'see --help'],
  [['--limit', '--check'], "Option '--limit' argument is ambiguous.", 'see --help'],
  [['--limit', 'a', '-l', 'b'], '--limit stands here twice', 'keep one of the two'],
  [['-i', 'a', '--inventory=b'], '--inventory stands here twice', 'keep one of the two'],
])('%j is refused: %s', (args, words, hint) => {
  expect(() => parseOptions(args, roles)).toThrow(
    expect.objectContaining({ message: expect.stringContaining(words), hint }),
  );
});

test('--role may be repeated, and = works', () => {
  const options = parseOptions(['--role=docker', '--role', 'preflight', '--inventory=lab', '--forks=3'], roles);
  expect(options).toMatchObject({ roles: ['docker', 'preflight'], inventory: 'lab', forks: 3 });
});
