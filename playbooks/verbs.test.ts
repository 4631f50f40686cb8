import { expect, test } from 'vitest';
import type { Changes } from '../lib/node/testing/lab-deployment.ts';
import { writeLabDeployment } from '../lib/node/testing/written-lab-deployment.ts';
import { folderForTest } from '../test/deploy/lab-inventory.ts';
import { runPlaybook } from '../test/deploy/playbook.ts';

const mistakes: readonly (readonly [string, readonly string[], string])[] = [
  ['drain', [], '--host is missing\n  --host NAME: the RPC server\n'],
  [
    'drain',
    ['--host', 'db-1'],
    '--host: lab-fleet has no host "db-1" in group rpc\n  known: rpc-1, rpc-2, rpc-3, rpc-4\n',
  ],
  ['restart', ['--component', 'jsonrpc'], '--component jsonrpc: unknown\n  did you mean json-rpc?\n'],
  ['restart', ['json-rpc'], 'unexpected word "json-rpc"\n  did you mean --component json-rpc?\n'],
  ['switch', [], '--to is missing\n'],
  ['switch', ['--to', 'rpc-1'], '--to: lab-fleet has no host "rpc-1" in group database\n  known: db-1\n'],
  ['rewind', ['--to', 'latest'], '--to latest: must be the number of a block\n'],
  [
    'snapshot',
    ['--physical', '--to', '/data/s', '--from', 'rpc-1'],
    '--from: lab-fleet has no host "rpc-1" in group replica or backup or database\n  known: db-1\n',
  ],
  [
    'snapshot',
    ['--to', '/data/s', '--from', 'db-1'],
    '--from goes with --physical\n  add --physical, or leave --from out\n',
  ],
  ['snapshot', ['--to', '/data/s', '--publish'], '--publish goes with --physical\n'],
  ['snapshot', ['--to', '/data/s/'], '--to /data/s/: must be a folder, /data/snapshots/today'],
  ['recover', ['--to-time', 'latest', '--copy-identity', 'k'], '--copy-identity goes with --from-storage\n'],
  ...['--from-storage', '--set-aside'].map((option): (typeof mistakes)[number] => [
    'recover',
    ['--to-time', 'latest', '--drill', option],
    `${option} and --drill do not go together\n  leave one of them out\n`,
  ]),
  ['drain', ['--host', 'rpc-1', '--undo', '--reason', 'x'], '--reason and --undo do not go together\n'],
  [
    'recover',
    ['--to-time', 'latest'],
    'recover needs a host in group backup, and lab-fleet has none\n  where the backups are copied off the site, name a new host',
  ],
  ['remove', ['--host', 'rpc-7'], '--host: lab-fleet has no host "rpc-7" in group rpc'],
];

test.each(mistakes)('%s %j is refused before anything is touched', async (name, args, words) => {
  const { exitCode, stderr } = await runPlaybook(name, '--inventory', 'lab-fleet', '--list-hosts', ...args);
  expect(exitCode, stderr).toBe(3);
  expect(stderr).toContain(words);
});

test('a server is not drained by gateways that are not there', async () => {
  const { exitCode, stderr } = await runPlaybook(
    'drain',
    '--inventory',
    'lab',
    '--host',
    'rpc-1',
    '--list-hosts',
  );
  expect(stderr).toBe(
    'drain needs a host in group gateway, and lab has none\n  clients reach this server without a gateway of the deployment: keep them away where they come from\n',
  );
  expect(exitCode).toBe(3);
});

test.each(['drain', 'restart', 'remove'])(
  '%s --help shows its own options and examples with them',
  async (name) => {
    const { exitCode, stdout } = await runPlaybook(name, '--help');
    expect(exitCode).toBe(0);
    const option = name === 'restart' ? 'component' : 'host';
    expect(stdout).toMatch(new RegExp(`^ +--${option} NAME +\\w`, 'm'));
    expect(stdout).toContain(`npx zx playbooks/${name}.mjs --${option} NAME --inventory mainnet --check\n`);
  },
);

test.each(['rollback', 'rewind', 'schedule'])('%s --help has no example of a part of it', async (name) => {
  const { stdout } = await runPlaybook(name, '--help');
  const examples = stdout.slice(stdout.indexOf('\nExamples\n'), stdout.indexOf('\nExit codes\n'));
  expect(examples).toContain('--inventory mainnet --check\n');
  expect(examples).not.toMatch(/--role|--limit/);
});

const replica: Changes = [
  [['groups', 'replica'], { 'replica-1': { address: '172.30.77.40' } }],
  [['vars', 'replica'], { password: 'env:OTHER_PASSWORD' }],
];
const backup: Changes = [
  [['groups', 'backup'], { 'backup-1': { address: '172.30.77.41' } }],
  [['vars', 'backup'], { password: 'env:OTHER_PASSWORD' }],
];

test.each([
  ['the Database+Sync server, where there is nothing else', [], [], 'db-1'],
  ['a replica, also where there is a backup host', [...replica, ...backup], [], 'replica-1'],
  ['the backup host, where there is no replica', backup, [], 'backup-1'],
  ['the host that --from names', [...replica, ...backup], ['--from', 'backup-1'], 'backup-1'],
  ['a replica, for a storage', replica, ['--to', 's3://snapshots/today'], 'replica-1'],
  ['the host that --to names, for a storage', replica, ['--to', 'db-1:s3://snapshots/today'], 'db-1'],
])('a physical snapshot is taken on %s', async (_, changes, args, host) => {
  process.env.OTHER_PASSWORD = 'other.Pw~4x';
  const inventory = writeLabDeployment(await folderForTest(), changes);
  const to = args.includes('--to') ? [] : ['--to', '/data/s'];
  const words = ['--physical', '--list-hosts', ...to, ...args];
  const { exitCode, stdout, stderr } = await runPlaybook('snapshot', '-i', inventory, ...words);
  expect(exitCode, stderr).toBe(0);
  expect(stdout.split('\n').filter((line) => /^\w/.test(line))).toEqual([
    expect.stringMatching(new RegExp(`^${host}\\b`)),
  ]);
});
