import { randomBytes } from 'node:crypto';
import { bytesOf, type Secret } from '../secret/secret.ts';
import { shellRanNothing } from './connection-errors.ts';
import type { Become } from './transport/become.ts';
import { remoteCommand } from './transport/remote-command.ts';
import { withTimeLimit } from './transport/time-limit.ts';
import type { Transport } from './transport/transport.ts';

interface ExecOptions {
  readonly stdin?: string | Buffer | Secret | undefined;
  /**
   * The host ends the script and all its processes after this time. Without it there is no limit.
   */
  readonly timeoutSeconds?: number | undefined;
  /** Time limit for a script with time limits of its own: then the host is disconnected. */
  readonly answerSeconds?: number | undefined;
  /** Called with standard output as it comes, and what a login shell prints before it. */
  readonly onOutput?: ((chunk: Buffer) => void) | undefined;
}

interface ExecResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Whether the time limit ended it; then the code is 124. */
  readonly timedOut: boolean;
}

/** Runs scripts on one host as root. */
export interface Connection {
  readonly name: string;
  /**
   * Runs a script for POSIX sh, in `/`, with LC_ALL=C and the system directories in PATH.
   *
   * @param script travels on standard input, in front of `stdin`, so no process list shows it
   * @throws ConnectionLost when the connection ends before the script does; Unreachable when it ends
   * before the first script begins
   */
  exec(script: string, options?: ExecOptions): Promise<ExecResult>;
  close(): Promise<void>;
  /** Requests sent so far. */
  readonly execs: number;
}

/** A connection that runs scripts over a transport. */
export function createConnection(name: string, transport: Transport, become: Become): Connection {
  let execs = 0;
  return {
    name,
    get execs() {
      return execs;
    },
    close: () => transport.close(),
    async exec(script, { stdin, timeoutSeconds, answerSeconds = timeoutSeconds, onOutput } = {}) {
      execs += 1;
      const nonce = randomBytes(12).toString('hex');
      const body = timeoutSeconds === undefined ? script : withTimeLimit(script, timeoutSeconds, nonce);
      const { command, input } = remoteCommand(
        `${prelude(nonce)}\n${body}`,
        become,
        stdin === undefined ? stdin : bytesOf(stdin),
      );
      const limits = { startMarker: nonce, seconds: answerSeconds, onOutput };
      const { code, stdout, stderr } = await transport.run(command, input, limits);
      const out = cutAfter(stdout, nonce);
      const err = cutAfter(stderr, nonce);
      // Without the nonce the script never started, whatever the exit code is.
      if (out === undefined) throw shellRanNothing(name, code, stdout, stderr);
      return { code, stdout: out, ...timeLimitReached(err ?? stderr, nonce) };
    },
  };
}

/**
 * A login shell's start-up files and sudo may print before the script does; the nonce marks the
 * end of their output.
 */
function prelude(nonce: string): string {
  return `PATH="$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" LC_ALL=C
export PATH LC_ALL
umask 022
cd /
echo ${nonce};echo ${nonce} >&2`;
}

function cutAfter(bytes: Buffer, nonce: string): Buffer | undefined {
  const at = bytes.indexOf(`${nonce}\n`);
  return at < 0 ? undefined : bytes.subarray(at + nonce.length + 1);
}

function timeLimitReached(stderr: Buffer, nonce: string): { stderr: Buffer; timedOut: boolean } {
  const at = stderr.lastIndexOf(`${nonce} time limit\n`);
  return at < 0 ? { stderr, timedOut: false } : { stderr: stderr.subarray(0, at), timedOut: true };
}
