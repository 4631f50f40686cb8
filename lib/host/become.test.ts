import { expect, test } from 'vitest';
import { Secret } from '../secret/secret.ts';
import { findBecome } from './become.ts';
import { Unreachable } from './failures.ts';
import type { Transport } from './transport.ts';

/** A host that answers the probes in turn. */
function host(...answers: { stdout?: string; stderr?: string }[]) {
  const asked: { command: string; input: string | undefined }[] = [];
  const transport: Transport = {
    async run(command, input) {
      asked.push({ command, input: input?.toString() });
      const { stdout = 'uid 1000\n', stderr = '' } = answers[asked.length - 1] ?? {};
      return { code: 1, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) };
    },
    async close() {},
  };
  return { transport, asked };
}

const password = new Secret('right-or-wrong');

test('root needs nothing, and is not even asked', async () => {
  const { transport, asked } = host();
  expect((await findBecome('db-1', transport, 'root', password)).prefix).toBe('');
  expect(asked).toEqual([]);
});

test('another name for root, sudo without a password, sudo with one', async () => {
  expect((await findBecome('db-1', host({ stdout: 'hello\nuid 0\n' }).transport, 'toor', undefined)).prefix).toBe('');

  const free = host({ stdout: 'uid 1000\nbecomes root\n' });
  expect(await findBecome('db-1', free.transport, 'me', password)).toEqual({ prefix: 'sudo -n ', password: undefined });

  const asks = host({ stderr: 'sudo: a password is required' }, { stdout: 'becomes root\n' });
  const become = await findBecome('db-1', asks.transport, 'me', password);
  expect(become.password).toBe(password);
  expect(asks.asked.map(({ input }) => input)).toEqual([undefined, 'right-or-wrong\n']);
  expect(asks.asked.map(({ command }) => command).join()).not.toContain('right-or-wrong');
});

test.each([
  ['a password is missing', [{ stderr: 'sudo: a password is required' }], undefined, /me wants|wants a password of me/],
  [
    'a password is wrong',
    [{ stderr: 'sudo: a password is required' }, { stderr: 'Sorry, try again.\nsudo: no password was provided' }],
    password,
    /did not take the password of me$/,
  ],
  ['a terminal is wanted', [{ stderr: 'sudo: sorry, you must have a tty to run sudo' }], undefined, /wants a terminal/],
  [
    'the user may not',
    [{ stderr: 'sudo: a password is required' }, { stderr: 'me is not in the sudoers file.' }],
    password,
    /may not become root/,
  ],
  ['there is no sudo', [{ stderr: 'sh: 1: sudo: not found' }], undefined, /sudo is not installed/],
  ['the shell runs nothing', [{ stdout: 'Not available.\n' }], undefined, /did not run a command.*Not available/],
])('%s', async (_, answers, given, wanted) => {
  const failed = await findBecome('db-1', host(...answers).transport, 'me', given).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(Unreachable);
  expect((failed as Unreachable).message).toMatch(wanted);
  expect((failed as Unreachable).message).toMatch(/^db-1: /);
});
