import { expect, test } from 'vitest';
import { describeProblem } from '../../problem/problem.ts';
import { Secret } from '../../secret/secret.ts';
import { Unreachable } from '../connection-errors.ts';
import { findBecome } from './become.ts';
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

test('root needs no sudo, and no check for it', async () => {
  const { transport, asked } = host();
  expect((await findBecome('db-1', transport, 'root', password)).prefix).toBe('');
  expect(asked).toEqual([]);
});

test('another name for root, sudo without a password, sudo with a password', async () => {
  expect(
    (await findBecome('db-1', host({ stdout: 'hello\nuid 0\n' }).transport, 'toor', undefined)).prefix,
  ).toBe('');

  const free = host({ stdout: 'uid 1000\nbecomes root\n' });
  expect(await findBecome('db-1', free.transport, 'me', password)).toEqual({
    prefix: 'sudo -n ',
    password: undefined,
  });

  const asks = host({ stderr: 'sudo: a password is required' }, { stdout: 'becomes root\n13000\n' });
  const become = await findBecome('db-1', asks.transport, 'me', password);
  expect(become.password).toBe(password);
  expect(asks.asked.map(({ input }) => input?.split('\n')[0])).toEqual([undefined, 'right-or-wrong']);
  expect(asks.asked.map(({ command }) => command).join()).not.toContain('right-or-wrong');
});

test.each([
  [
    'a password is missing',
    [{ stderr: 'sudo: a password is required' }],
    undefined,
    /sudo wants a password of me\n {2}give become_password for this host in the inventory/,
  ],
  [
    'a password is wrong',
    [
      { stderr: 'sudo: a password is required' },
      { stderr: 'Sorry, try again.\nsudo: no password was provided' },
    ],
    password,
    /sudo did not take the password of me\n {2}check become_password in the inventory/,
  ],
  // As sudo 1.9.13 answers.
  [
    'a password has expired',
    [
      { stderr: 'sudo: a password is required' },
      {
        stderr:
          'sudo: Account or password is expired, reset your password and try again\nChanging password for me.\n[sudo] password for %p: \nsudo: no password was provided\nsudo: unable to change expired password: Authentication token manipulation error\n',
      },
    ],
    password,
    /me may not use sudo until its account is in order: Account or password is expired, reset your password and try again\n {2}log in there as me/,
  ],
  [
    'an account has expired',
    [
      { stderr: 'sudo: a password is required' },
      {
        stderr: 'sudo: account validation failure, is your account locked?\nsudo: a password is required\n',
      },
    ],
    password,
    /may not use sudo until its account is in order: account validation failure, is your account locked\?/,
  ],
  [
    // As sudo-rs 0.2.5 answers, which reads 8192 bytes at once.
    'sudo takes what follows the password',
    [{ stderr: 'sudo: a password is required' }, { stdout: 'becomes root\n4816\n' }],
    password,
    /sudo there takes what follows the password on standard input .*\n {2}allow me sudo without a password there, or install the other sudo/,
  ],
  // As sudo 1.9.13 and dash say it.
  [
    'sudo starts no program, without a password',
    [{ stderr: 'sh: 1: wc: Permission denied\n' }],
    undefined,
    /sudo runs a shell for me that may start no program \(NOEXEC\)\n {2}lift it there for me: noexec of sudoers/,
  ],
  [
    'sudo starts no program, with a password',
    [
      { stderr: 'sudo: a password is required' },
      { stdout: 'becomes root\n', stderr: 'sh: 1: wc: Permission denied\n' },
    ],
    password,
    /sudo runs a shell for me that may start no program \(NOEXEC\)/,
  ],
  [
    'a terminal is wanted',
    [{ stderr: 'sudo: sorry, you must have a tty to run sudo' }],
    undefined,
    /sudo requires a terminal for me, and this connection has none\n {2}put this into .*: Defaults:me !requiretty/,
  ],
  [
    'the user may not',
    [{ stderr: 'sudo: a password is required' }, { stderr: 'me is not in the sudoers file.' }],
    password,
    /me may not become root with sudo\n {2}allow it there, or log in as a user who may/,
  ],
  [
    'there is no sudo',
    [{ stderr: 'sh: 1: sudo: not found' }],
    undefined,
    /me is not root, and sudo is not installed\n {2}install sudo there, or log in as root/,
  ],
  [
    'sudo itself is broken',
    [{ stderr: 'sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set' }],
    undefined,
    /me could not become root: sudo: .* setuid bit set\n {2}try `sudo -n true` there by hand/,
  ],
  [
    'the shell runs nothing',
    [{ stdout: 'Not available.\n' }],
    undefined,
    /the login shell did not run a command \(it ended with 1\): Not available\.\n {2}this key or account may have a forced command there \(authorized_keys, a certificate, ForceCommand\), or no login shell$/,
  ],
])('%s', async (_, answers, given, wanted) => {
  const failed = await findBecome('db-1', host(...answers).transport, 'me', given).catch(
    (error: unknown) => error,
  );
  expect(failed).toBeInstanceOf(Unreachable);
  expect(describeProblem(failed as Unreachable)).toMatch(wanted);
  expect((failed as Unreachable).message).toMatch(/^db-1: /);
});
