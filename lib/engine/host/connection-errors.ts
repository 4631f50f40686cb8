import { exitCode, Problem } from '../problem/problem.ts';

/** A host could not be reached, would not let us in, or is not the one it should be. */
export class Unreachable extends Problem {
  readonly host: string;

  constructor(host: string, what: string, hint?: string, cause?: unknown) {
    super(`${host}: ${what}`, { hint, cause, code: exitCode.unreachable });
    this.name = 'Unreachable';
    this.host = host;
  }
}

/** The connection ended while something ran: how far that came is not known. */
export class ConnectionLost extends Error {
  readonly host: string;
  readonly hint: string;

  constructor(host: string, why: string, cause?: unknown) {
    super(`${host}: the connection was lost: ${why}`, cause === undefined ? undefined : { cause });
    this.name = 'ConnectionLost';
    this.host = host;
    this.hint = 'run again: what was done is seen, what was not is made up for';
  }
}

/** The login shell ended without having run what it was given. */
export function shellRanNothing(name: string, code: number, stdout: Buffer, stderr: Buffer): Unreachable {
  const said = (stderr.toString().trim() || stdout.toString().trim()).split('\n').slice(-4).join('\n');
  return new Unreachable(
    name,
    `the login shell did not run a command (it ended with ${code})${said ? `: ${said}` : ''}`,
    'the account needs a login shell that runs commands, and base64 (coreutils) has to be there',
  );
}

/** The login shell neither ran what it was given nor ended. */
export function shellNeverStarted(name: string, seconds: number): Unreachable {
  return new Unreachable(
    name,
    `the login shell did not begin a command within ${seconds} s`,
    'see what it waits for: a start-up file (~/.bashrc, ~/.profile), a home on a dead file system, sudo; or allow more: --timeout',
  );
}
