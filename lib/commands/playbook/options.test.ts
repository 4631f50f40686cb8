import { describe, expect, test } from 'vitest';
import { helpText, parseCommandLine } from '../../engine/command-line/command-line.ts';
import { parseOptions } from './options.ts';

const roles = ['preflight', 'time-sync', 'docker'];

test('defaults', () => {
  expect(parseOptions([], roles)).toEqual({
    inventory: undefined,
    check: false,
    limit: undefined,
    roles: [],
    skippedRoles: [],
    startAt: undefined,
    step: false,
    set: [],
    assumedStopped: [],
    forks: 25,
    timeout: undefined,
    listHosts: false,
    listTasks: false,
    diff: 'short',
    out: undefined,
    plan: undefined,
    report: undefined,
    breakLock: false,
    wait: undefined,
    yes: false,
    json: false,
    quiet: false,
    color: true,
    identity: undefined,
    askBecomePass: false,
    verbose: false,
    help: false,
    own: {},
  });
});

describe('options of one playbook', () => {
  const own = {
    component: { value: 'NAME', help: 'which one', required: true, completes: ['sync', 'prover'] },
    undo: { help: 'the other way' },
  } as const;

  test('are read beside the common ones', () => {
    expect(parseOptions(['--component', 'sync', '--undo'], roles, own).own).toEqual({
      component: 'sync',
      undo: '',
    });
    expect(parseOptions(['--component', 'sync', '--check'], roles, own)).toMatchObject({
      own: { component: 'sync' },
      check: true,
    });
    expect(parseOptions(['--help'], roles, own).own).toEqual({});
  });

  test.each([
    [[], '--component is missing', '--component NAME: which one'],
    [['--component', 'snyc'], '--component snyc: unknown', 'did you mean sync?'],
    [
      ['--plan', 'p.json', '--undo'],
      '--plan and --undo do not go together',
      'a plan is followed as it was made',
    ],
  ])('refused: %j', (args, message, hint) => {
    expect(() => parseOptions(args, roles, own)).toThrow(expect.objectContaining({ message, hint }));
  });

  test('are in no other playbook', () => {
    expect(() => parseOptions(['--undo'], roles)).toThrow('unknown option "--undo"');
  });
});

test('roles are given one by one or with commas', () => {
  expect(parseOptions(['--role', 'docker,time-sync', '--role', 'preflight'], roles).roles).toEqual([
    'docker',
    'time-sync',
    'preflight',
  ]);
  expect(parseOptions(['--skip-role', 'docker, time-sync'], roles).skippedRoles).toEqual([
    'docker',
    'time-sync',
  ]);
});

test('a flag does not take the next word as its value', () => {
  expect(() => parseOptions(['--check', 'time-sync'], roles)).toThrow('unexpected word "time-sync"');
});

test.each([
  [['--chekc'], 'unknown option "--chekc"', 'did you mean --check?'],
  [
    ['-k'],
    'unknown option "-k"',
    'hosts are reached by key, never by password: ssh-copy-id puts your key on a host',
  ],
  [
    ['-u', 'root'],
    'unknown option "-u"',
    'the user is in the inventory: user under ssh, or of one host; otherwise ssh_config has it',
  ],
  [
    ['--become'],
    'unknown option "--become"',
    'a user who is not root gets sudo by itself; --ask-become-pass asks for its password',
  ],
  [
    ['--private-key=x'],
    'unknown option "--private-key"',
    'the key is in the inventory: identity_file under ssh, or of one host; otherwise ssh_config has it',
  ],
  [
    ['--ssh-common-args', '-v'],
    'unknown option "--ssh-common-args"',
    'settings of SSH are in the inventory (ssh) and in your ssh_config, which is read',
  ],
  [
    ['--vault-password-file', 'x'],
    'unknown option "--vault-password-file"',
    'secrets are in a file beside the inventory: --identity FILE opens it, see docs/secrets.md',
  ],
  [
    ['--syntax-check'],
    'unknown option "--syntax-check"',
    'npx zx playbooks/validate.mjs checks an inventory without a connection',
  ],
  [['--auto-approve'], 'unknown option "--auto-approve"', 'did you mean --yes?'],
  [['-n'], 'unknown option "-n"', 'did you mean --check?'],
  [
    ['-m', 'ping'],
    'unknown option "-m"',
    'each command is a playbook: ping.mjs, facts.mjs, run.mjs -- COMMAND',
  ],
  [
    ['plan'],
    'unexpected word "plan"',
    'the plan is check mode: npx zx playbooks/deploy.mjs --inventory NAME --check',
  ],
  [['lab'], 'unexpected word "lab"', 'did you mean --inventory lab?'],
  [['-i', 'lab', 'rpc-1'], 'unexpected word "rpc-1"', 'options start with --; see --help'],
  [
    ['-i', 'lab', '—check'],
    'unexpected word "—check"',
    'an option starts with two plain hyphens, --: type them',
  ],
  [['--role', 'docker,dokcer'], 'unknown role "dokcer"', 'did you mean docker?'],
  [['--zzz'], 'unknown option "--zzz"', 'see --help'],
  [['--constructor'], 'unknown option "--constructor"', 'see --help'],
  [['--role', 'time-snyc'], 'unknown role "time-snyc"', 'did you mean time-sync?'],
  [['--skip-role', 'dokcer'], 'unknown role "dokcer"', 'did you mean docker?'],
  [
    ['--assume-stopped', 'rpc-1,'],
    '--assume-stopped "rpc-1,": a name is missing',
    'such as --assume-stopped rpc-1,rpc-2',
  ],
  [
    ['--plan', 'p.json', '--assume-stopped', 'rpc-1'],
    '--plan and --assume-stopped do not go together',
    'a plan is followed as it was made',
  ],
  [['--forks', '0'], '--forks 0: must be a whole number from 1 to 9999', undefined],
  [['--forks', '1e3'], '--forks 1e3: must be a whole number from 1 to 9999', undefined],
  [['--timeout', '4000'], '--timeout 4000: must be a whole number from 1 to 3600', undefined],
  [['--limit'], '--limit needs a value', '--limit PATTERN'],
  [['-q', '-i'], '--inventory needs a value', '--inventory NAME|FILE'],
  [['-x'], 'unknown option "-x"', 'see --help'],
  [['-qx'], 'unknown option "-x"', 'see --help'],
  [['--host', 'rpc-1'], 'unknown option "--host"', 'did you mean --limit?'],
  [['--dry-run'], 'unknown option "--dry-run"', 'did you mean --check?'],
  [['-e', 'a=b'], 'unknown option "-e"', 'did you mean --set?'],
  [['--check=yes'], '--check takes no value', 'write --check alone'],
  [
    ['--limit', '--check'],
    '--limit needs a value, and "--check" looks like an option',
    '--limit PATTERN; for a value that begins with a dash, --limit=VALUE',
  ],
  [['--limit', 'a', '-l', 'b'], '--limit is given twice', 'keep one of the two'],
  [['-i', 'a', '--inventory=b'], '--inventory is given twice', 'keep one of the two'],
  [['--diff', '--no-diff'], '--diff and --no-diff do not go together', 'leave one of them out'],
  [['--check', '--wait', '5m'], '--check and --wait do not go together', 'leave one of them out'],
  [['--wait', 'long'], '--wait long: must be a duration, such as 90s, 5m or 1h', undefined],
  [['--step', '--check'], '--check and --step do not go together', 'leave one of them out'],
  [['--out', 'p.json'], '--out saves the plan of check mode', 'add --check'],
  [
    ['--plan', 'p.json', '--role', 'docker'],
    '--plan and --role do not go together',
    'a plan is followed as it was made',
  ],
  [
    ['--plan', 'p.json', '--check'],
    '--plan and --check do not go together',
    'a plan is followed as it was made',
  ],
  [['-q', '-v'], '--quiet and --verbose do not go together', 'leave one of them out'],
  [['--set', 'ports'], '--set ports: must be KEY=VALUE', 'such as --set ports.rpc_http=18123'],
  [['--set', 'a..b=1'], '--set a..b=…: must be KEY=VALUE', 'such as --set ports.rpc_http=18123'],
  [['--set', 'x=&a [*a,*a]'], '--set x=…: the value is not plain YAML', expect.anything()],
  [['--set', 'x=!!js/function y'], '--set x=…: the value is not plain YAML', expect.anything()],
  [
    ['--set', `${'a.'.repeat(20000)}b=1`],
    '--set: the key has 20001 parts, more than any variable',
    undefined,
  ],
  [['--set', 'a={'], '--set a=…: the value is not plain YAML', `put the value in quotes: --set key='"text"'`],
  [['--set', 'a.b=1', '--set', 'c=2', '--set', 'a.b=3'], '--set a.b is given twice', 'keep one of the two'],
])('%j is refused: %s', (args, words, hint) => {
  expect(() => parseOptions(args, roles)).toThrow(
    expect.objectContaining({ message: expect.stringContaining(words), hint }),
  );
});

test('--role may be repeated, and = works', () => {
  const options = parseOptions(
    ['--role=docker', '--role', 'preflight', '--inventory=lab', '--forks=3'],
    roles,
  );
  expect(options).toMatchObject({ roles: ['docker', 'preflight'], inventory: 'lab', forks: 3 });
});

test('--set takes values as an inventory does, also values with =', () => {
  const { set } = parseOptions(
    ['--set', 'ports.rpc_http=80', '--set', 'network.l1_rpc_url=http://a/?b=c', '--set=a=true'],
    roles,
  );
  expect(set.map(({ path, value }) => [path.join('.'), value])).toEqual([
    ['ports.rpc_http', 80],
    ['network.l1_rpc_url', 'http://a/?b=c'],
    ['a', true],
  ]);
});

test('--diff and --verbose show every diff, --no-diff shows none', () => {
  const shown = (...args: string[]) => parseOptions(args, roles).diff;
  expect([shown(), shown('--diff'), shown('-v'), shown('--no-diff')]).toEqual([
    'short',
    'whole',
    'whole',
    'none',
  ]);
});

const table = {
  list: { help: 'show them' },
  out: { short: 'o', value: 'FILE', help: 'where to\nand more of it' },
  also: { value: 'X', repeat: true, help: 'again and again' },
} as const;

test('a positional argument has to be one of the words that a command knows', () => {
  expect(
    parseCommandLine(['show', '-o', 'f', '--also', 'a', '--also', 'b'], table, ['show', 'edit']),
  ).toEqual({
    given: { list: false, out: 'f', also: ['a', 'b'] },
    words: ['show'],
  });
  expect(() => parseCommandLine(['shwo'], table, ['show', 'edit'])).toThrow(
    expect.objectContaining({ message: 'unexpected word "shwo"', hint: 'did you mean show?' }),
  );
  expect(() => parseCommandLine(['show', 'edit'], table, ['show', 'edit'])).toThrow('unexpected word "edit"');
});

test('help is aligned in columns', () => {
  const text = helpText({
    command: 'npx zx playbooks/x.mjs',
    purpose: 'does x.',
    options: table,
    examples: ['--list', ''],
    exits: { 0: 'done', 130: 'interrupted' },
  });
  expect(text).toBe(`npx zx playbooks/x.mjs does x.

Usage: npx zx playbooks/x.mjs [options]

Options
      --list      show them
  -o, --out FILE  where to
                  and more of it
      --also X    again and again
  -C DIR          work in this folder, which has your inventory/

Examples
  npx zx playbooks/x.mjs --list
  npx zx playbooks/x.mjs

Exit codes
    0  done
  130  interrupted
`);
});

test("a playbook's own options are strict, too", () => {
  const own = {
    to: {
      value: 'FOLDER',
      required: true,
      help: 'a folder',
      form: { pattern: /^\//, words: 'must be a folder' },
    },
    drill: { help: 'try it' },
  } as const;
  expect(parseOptions(['--to', '/x', '--drill'], roles, own).own).toEqual({ to: '/x', drill: '' });
  expect(parseOptions(['--help'], roles, own).own).toEqual({});
  expect(() => parseOptions([], roles, own)).toThrow('--to is missing');
  expect(() => parseOptions(['--to', 'x'], roles, own)).toThrow('--to x: must be a folder');
  expect(() => parseOptions(['--to', '/x'], roles)).toThrow('unknown option "--to"');
});

test.each([
  ['10m', 600],
  ['90s', 90],
  ['90', 90],
  ['1h', 3600],
])('--wait %s is %i seconds', (text, seconds) => {
  expect(parseOptions(['--wait', text], roles).wait).toBe(seconds);
});
