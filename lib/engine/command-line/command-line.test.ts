import { afterEach, expect, test } from 'vitest';
import { helpText } from './command-line.ts';

afterEach(() => void delete process.env.RPC_PLAYBOOKS_PROGRAM);

const page = {
  command: 'npx zx playbooks/x.mjs',
  purpose: 'does x.',
  options: {},
  examples: ['--list'],
  exits: { 0: 'done' },
} as const;

test.each([
  [undefined, 'npx zx playbooks/x.mjs'],
  ['rpc-playbooks', 'npx rpc-playbooks x'],
])('help by the program %s names %s', (program, command) => {
  if (program !== undefined) process.env.RPC_PLAYBOOKS_PROGRAM = program;
  const parts = helpText(page).trim().split('\n\n');
  expect(parts).toEqual([
    `${command} does x.`,
    `Usage: ${command} [options]`,
    'Options\n  -C DIR  work in this folder, which has your inventory/',
    `Examples\n  ${command} --list`,
    'Exit codes\n    0  done',
  ]);
  expect(parts[2]?.split('  ')[1]).toBe('-C DIR');
  expect(parts[4]?.split('\n')[0]).toBe('Exit codes');
});
