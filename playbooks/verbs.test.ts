import { expect, test } from 'vitest';
import { runPlaybook } from '../test/deploy/playbook.ts';

const mistakes: readonly (readonly [string, readonly string[], string])[] = [
  ['drain', [], '--host is missing\n  --host NAME: the RPC server\n'],
  [
    'drain',
    ['--host', 'db-1'],
    '--host: lab-fleet has no host "db-1" in group rpc\n  known: rpc-1, rpc-2, rpc-3, rpc-4\n',
  ],
  ['restart', ['--component', 'jsonrpc'], '--component jsonrpc: unknown\n  did you mean json-rpc?\n'],
  ['switch', [], '--to is missing\n'],
  ['switch', ['--to', 'rpc-1'], '--to: lab-fleet has no host "rpc-1" in group database\n  known: db-1\n'],
  ['rewind', ['--to', 'latest'], '--to latest: must be the number of a block\n'],
  ['remove', ['--host', 'rpc-7'], '--host: lab-fleet has no host "rpc-7" in group rpc'],
];

test.each(mistakes)('%s %j is refused before anything is touched', async (name, args, words) => {
  const { exitCode, stderr } = await runPlaybook(name, '--inventory', 'lab-fleet', '--list-hosts', ...args);
  expect(exitCode, stderr).toBe(3);
  expect(stderr).toContain(words);
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
