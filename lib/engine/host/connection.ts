import { randomBytes } from 'node:crypto';
import type { ConnectionSettings } from '../inventory/inventory.ts';
import { Secret } from '../secret/secret.ts';
import { shellRanNothing } from './connection-errors.ts';
import { resolveSshConfig } from './ssh/ssh-config.ts';
import { type Become, findBecome } from './transport/become.ts';
import { remoteCommand } from './transport/remote-command.ts';
import { withTimeLimit } from './transport/time-limit.ts';
import type { ConnectOptions, Transport } from './transport/transport.ts';

export { ConnectionLost, Unreachable } from './connection-errors.ts';

export interface ExecOptions {
  readonly stdin?: string | Buffer | Secret | undefined;
  /** The host ends the script and all that it started after so long. Without it there is no limit. */
  readonly timeoutSeconds?: number | undefined;
  /** How long a script with time limits of its own may take: then the host is given up. */
  readonly answerSeconds?: number | undefined;
  /** Receives standard output while the script runs. */
  readonly onStdout?: ((chunk: Buffer) => void) | undefined;
}

export interface ExecResult {
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
   * @param script is seen in the host's process list: secrets go by `stdin`
   * @throws ConnectionLost when the connection ends before the script does
   */
  exec(script: string, options?: ExecOptions): Promise<ExecResult>;
  close(): Promise<void>;
  /** Requests sent so far. */
  readonly execs: number;
}

/**
 * Connects to a host and becomes root there.
 *
 * @param name what the inventory calls it
 * @throws Unreachable
 */
export async function connect(
  name: string,
  connection: ConnectionSettings,
  options: ConnectOptions = {},
): Promise<Connection> {
  const { transport, user } =
    connection.type === 'local'
      ? await import('./transport/local.ts').then(({ openLocal }) => openLocal(name))
      : await connectBySsh(name, connection, options);
  try {
    const become = await findBecome(name, transport, user, connection.becomePassword);
    return connectionOver(name, transport, become);
  } catch (error) {
    await transport.close();
    throw error;
  }
}

/** The SSH library is loaded only where it is used, while ssh reads its configuration. */
async function connectBySsh(name: string, connection: ConnectionSettings, options: ConnectOptions) {
  const [config, { openSsh }] = await Promise.all([
    resolveSshConfig(connection.address, connection),
    import('./ssh/ssh.ts'),
  ]);
  return openSsh(name, connection, config, options);
}

/** Turns scripts into command lines for a transport, and its output back. */
export function connectionOver(name: string, transport: Transport, become: Become): Connection {
  let execs = 0;
  return {
    name,
    get execs() {
      return execs;
    },
    close: () => transport.close(),
    async exec(script, { stdin, timeoutSeconds, answerSeconds = timeoutSeconds, onStdout } = {}) {
      execs += 1;
      const nonce = randomBytes(12).toString('hex');
      const body = timeoutSeconds === undefined ? script : withTimeLimit(script, timeoutSeconds, nonce);
      const { command, input } = remoteCommand(`${prelude(nonce)}\n${body}`, become, asBuffer(stdin));
      const limits = { startMarker: nonce, seconds: answerSeconds };
      const { code, stdout, stderr } = await transport.run(command, input, afterNonce(nonce, onStdout), limits);
      const out = cutAfter(stdout, nonce);
      const err = cutAfter(stderr, nonce);
      // Without the nonce the script never started, whatever the code is.
      if (out === undefined) throw shellRanNothing(name, code, stdout, stderr);
      return { code, stdout: out, ...timeLimitReached(err ?? stderr, nonce) };
    },
  };
}

/** A login shell's start-up files and sudo may print before the script does; the nonce marks the end of that. */
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

function afterNonce(nonce: string, onStdout: ((chunk: Buffer) => void) | undefined): (chunk: Buffer) => void {
  if (!onStdout) return () => {};
  let before: Buffer | undefined = Buffer.alloc(0);
  return (chunk) => {
    if (!before) return onStdout(chunk);
    before = Buffer.concat([before, chunk]);
    const rest = cutAfter(before, nonce);
    if (!rest) return;
    before = undefined;
    if (rest.length > 0) onStdout(rest);
  };
}

function timeLimitReached(stderr: Buffer, nonce: string): { stderr: Buffer; timedOut: boolean } {
  const at = stderr.lastIndexOf(`${nonce} time limit\n`);
  return at < 0 ? { stderr, timedOut: false } : { stderr: stderr.subarray(0, at), timedOut: true };
}

function asBuffer(stdin: string | Buffer | Secret | undefined): Buffer | undefined {
  if (stdin instanceof Secret) return Buffer.from(stdin.reveal());
  return typeof stdin === 'string' ? Buffer.from(stdin) : stdin;
}
