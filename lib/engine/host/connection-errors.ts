import { exitCode, Problem } from '../problem/problem.ts';

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
  const printed = (stderr.toString().trim() || stdout.toString().trim()).split('\n').slice(-4).join('\n');
  return new Unreachable(
    name,
    `the login shell did not run a command (it ended with ${code})${printed ? `: ${printed}` : ''}`,
    'the account needs a login shell that runs commands, and base64 (coreutils) has to be installed',
  );
}

/** The login shell neither ran the command nor ended. */
export function shellNeverStarted(name: string, seconds: number): Unreachable {
  return new Unreachable(
    name,
    `the login shell did not begin a command within ${seconds} s`,
    'find out what it waits for: a start-up file (~/.bashrc, ~/.profile), a home on a dead file system, sudo; or allow more: --timeout',
  );
}
