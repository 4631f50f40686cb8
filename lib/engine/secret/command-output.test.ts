import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { processesWith, temporaryDirectory } from '../host/testing/local-connection.ts';
import { outputOf, SecretCommandFailed } from './command-output.ts';

test('a command runs once, in the given folder, for any number of references', async () => {
  const folder = temporaryDirectory();
  const command = 'echo x >> runs; printf pw-of-vault';
  const outputs = await Promise.all([1, 2, 3].map(() => outputOf(command, folder, 100)));
  expect(outputs).toEqual(['pw-of-vault', 'pw-of-vault', 'pw-of-vault']);
  expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('x\n');
});

test.each([
  ['echo no session >&2; echo hunter2; exit 4', 'ended with 4: no session'],
  ['exit 3', 'ended with 3'],
  [
    "printf '\\033[31m╷\\033[0m\\n\\033[31m│\\033[0m \\033[1mError: \\033[0mNo outputs found\\n│ \\n╵\\n' >&2; exit 1",
    'ended with 1: Error: No outputs found',
  ],
  [
    "printf '\\nWarning: old state\\nError: locked by eve\\n' >&2; exit 1",
    'ended with 1: Error: locked by eve',
  ],
  ['echo Warning: all is lost >&2; exit 1', 'ended with 1: Warning: all is lost'],
  ['kill -TERM $$', 'was ended by SIGTERM'],
  ['yes', 'prints more than 100 bytes'],
])('%s: refused without what it printed', async (command, message) => {
  const error = await outputOf(command, temporaryDirectory(), 100).catch((each: Error) => each);
  expect(error).toBeInstanceOf(SecretCommandFailed);
  expect((error as Error).message).toBe(message);
});

test('a folder that is gone', async () => {
  await expect(outputOf('true', '/nowhere', 100)).rejects.toThrow('cannot be started (ENOENT)');
});

test('a command that takes too long is killed with its children', async () => {
  const folder = temporaryDirectory();
  const slow = outputOf('(sleep 3; touch late) & wait', folder, 100, 0.3);
  await expect(slow).rejects.toThrow('did not end within 0.3 s');
  await delay(3500);
  expect(existsSync(join(folder, 'late'))).toBe(false);
});

test('of a long complaint without a line break nothing is shown: its end could be half a secret', async () => {
  const endless = "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 3";
  await expect(outputOf(endless, '/', 100)).rejects.toThrow(/^ended with 3$/);
});

test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
  'a command ends with its children when this program is ended by %s',
  async (signal) => {
    const mark = `mark-${signal}-${process.pid}`;
    const module = new URL('./command-output.ts', import.meta.url).href;
    const script = `const { outputOf } = await import(${JSON.stringify(module)});
      await outputOf('(sleep 600; : ${mark}) & echo up >&2; wait', '/', 100);`;
    const program = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      stdio: 'ignore',
    });
    const commands = () => processesWith(mark).filter((pid) => pid !== String(program.pid));
    await expect.poll(() => commands().length, { timeout: 60_000 }).toBeGreaterThan(0);
    program.kill(signal);
    await expect.poll(commands, { timeout: 60_000 }).toEqual([]);
  },
);
