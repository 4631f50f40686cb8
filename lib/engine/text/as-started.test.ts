import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import { describeError } from '../output/describe-error.ts';
import { Problem } from '../problem/problem.ts';
import { secretsCommand } from '../secret/secrets-file.ts';
import { asRepeated } from './as-started.ts';

afterEach(() => void vi.unstubAllEnvs());

const text = 'npx zx playbooks/drain.mjs --undo, or npx zx playbooks/deploy.mjs';

test.each([
  [undefined, undefined, text],
  ['rpc-playbooks', undefined, 'npx rpc-playbooks drain --undo, or npx rpc-playbooks deploy'],
  [
    undefined,
    'my-week',
    'npx zx playbooks/drain.mjs -C my-week --undo, or npx zx playbooks/deploy.mjs -C my-week',
  ],
  [
    'rpc-playbooks',
    '/srv/a b',
    "npx rpc-playbooks drain -C '/srv/a b' --undo, or npx rpc-playbooks deploy -C '/srv/a b'",
  ],
])('commands to copy name the program %s and the folder %s', (program, folder, expected) => {
  vi.stubEnv('RPC_PLAYBOOKS_PROGRAM', program);
  vi.stubEnv('RPC_PLAYBOOKS_FOLDER', folder);
  expect(asRepeated(text)).toBe(expected);
  expect(asRepeated(asRepeated(text))).toBe(expected);
});

test('the command for the secrets of an inventory names a file that is there', () => {
  const path = join(temporaryDirectory(), 'mainnet');
  writeFileSync(`${path}.yml`, '');
  expect(secretsCommand(`${path}.secrets.age`, 'generate')).toContain(`--inventory ${path}.yml generate`);
  writeFileSync(`${path}.yaml`, '');
  expect(secretsCommand(`${path}.secrets.age`, 'generate')).toContain(`--inventory ${path}.yaml generate`);
});

test('the hint of an error acts in the folder of the run', () => {
  vi.stubEnv('RPC_PLAYBOOKS_FOLDER', 'my-week');
  const hint = secretsCommand('inventory/lab-week.secrets.age', 'generate');
  expect(describeError(new Problem('x', { hint }))).toBe(
    'x\n  npx zx playbooks/secrets.mjs -C my-week --inventory lab-week generate',
  );
});
