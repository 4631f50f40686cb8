import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { remoteCommand } from './remote-command.ts';

const root = { prefix: '', password: undefined };

test.each([
  ['an empty script', ''],
  ['a short script', 'printf "%s|" "$#" "it\'s"; cat'],
  ['a script longer than a word of csh', `: ${'x'.repeat(20_000)}\nprintf "%s|" "$#" "it's"; cat`],
  ['a script longer than a command', `: ${'x'.repeat(100_000)}\nprintf "%s|" "$#" "it's"; cat`],
])('%s runs with its standard input, and no word is too long for csh', (_, script) => {
  const { command, input } = remoteCommand(script, root, Buffer.from('input'));
  expect(Math.max(...command.split(' ').map((word) => word.length))).toBeLessThan(8192);
  const { stdout } = spawnSync('sh', ['-c', command], { input, encoding: 'utf8' });
  expect(stdout).toBe(script === '' ? '' : "0|it's|input");
});
