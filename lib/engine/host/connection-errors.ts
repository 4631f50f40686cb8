import { exitCode, Problem } from '../problem/problem.ts';
import { redact } from '../secret/secret.ts';
import { readable } from '../text/printable.ts';

/** A host cannot be reached, refuses the login, or is not the one it should be. */
export class Unreachable extends Problem {
  constructor(host: string, what: string, hint?: string, cause?: unknown) {
    super(`${host}: ${what}`, { hint, cause, code: exitCode.unreachable });
    this.name = 'Unreachable';
  }
}

/** The connection ended during a command: how much of it was done is not known. */
export class ConnectionLost extends Error {
  readonly hint = 'run again: the next run checks what was done, and does the rest';

  constructor(host: string, why: string, cause?: unknown) {
    super(`${host}: the connection was lost: ${why}`, cause === undefined ? undefined : { cause });
    this.name = 'ConnectionLost';
  }
}

/** The connection ended after the login, before the host began its first command. */
export function endedBeforeCommand(name: string, why: string, cause: unknown): Unreachable {
  return new Unreachable(
    name,
    `the host accepts the login, and the connection ended before the first command began: ${why}`,
    'run again. If it ends so each time, its sshd may let this account in for forced commands alone (PermitRootLogin forced-commands-only); the log of its sshd has the reason',
    cause,
  );
}

/** The login shell ended without running the command. */
export function shellRanNothing(name: string, code: number, stdout: Buffer, stderr: Buffer): Unreachable {
  const words = lastLines(stdout, stderr);
  return new Unreachable(
    name,
    `the login shell did not run a command (it ended with ${code})${said(words)}`,
    adviceFor(words),
  );
}

/** The login shell neither ran the command nor ended. It may have printed something. */
export function shellNeverStarted(
  name: string,
  seconds: number,
  stdout: Buffer,
  stderr: Buffer,
): Unreachable {
  return new Unreachable(
    name,
    `the login shell did not begin a command within ${seconds} s${said(lastLines(stdout, stderr))}`,
    'find out what it waits for: a forced command, a start-up file (~/.bashrc, ~/.profile), a home on a dead file system, sudo; or allow more: --timeout',
  );
}

/** The words of the host say more than a guess would. */
function adviceFor(words: string): string {
  if (words === '')
    return 'the account needs a login shell that runs commands, and base64 (coreutils) has to be installed';
  if (/base64.* not found/.test(words)) return 'install base64 there (coreutils)';
  if (/password.*(expired|change)/i.test(words)) return 'log in there by hand and change the password';
  return 'this key or account may have a forced command there (authorized_keys, a certificate, ForceCommand), or no login shell';
}

function said(words: string): string {
  return words === '' ? '' : `: ${words}`;
}

function lastLines(stdout: Buffer, stderr: Buffer): string {
  const printed = stderr.toString().trim() || stdout.toString().trim();
  return readable(redact(printed).split('\n').slice(-4).join('\n'));
}
