import type { ConnectionSettings } from '../inventory/inventory.ts';
import type { Secret } from '../secret/secret.ts';
import { createConnection } from './create-connection.ts';
import { resolveSshConfig } from './ssh/resolve-ssh-config.ts';
import { findBecome } from './transport/become.ts';
import type { ConnectOptions } from './transport/transport.ts';

export { ConnectionLost } from './connection-errors.ts';

interface ExecOptions {
  readonly stdin?: string | Buffer | Secret | undefined;
  /** The host ends the script and all its processes after this time. Without it there is no limit. */
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
 * @param name its name in the inventory
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
    return createConnection(name, transport, become);
  } catch (error) {
    await transport.close();
    throw error;
  }
}

/** The SSH library is loaded on first use, while ssh reads its configuration. */
async function connectBySsh(name: string, connection: ConnectionSettings, options: ConnectOptions) {
  const [config, { openSsh }] = await Promise.all([
    resolveSshConfig(name, connection.address, connection, { jumps: connection.jump.length > 0 }),
    import('./ssh/ssh.ts'),
  ]);
  return openSsh(name, connection, config, options);
}
