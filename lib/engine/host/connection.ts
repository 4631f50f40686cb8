import type { ConnectionSettings } from '../inventory/inventory.ts';
import { type Connection, createConnection } from './create-connection.ts';
import { resolveSshConfig } from './ssh/resolve-ssh-config.ts';
import { findBecome } from './transport/become.ts';
import type { ConnectOptions } from './transport/transport.ts';

export { ConnectionLost } from './connection-errors.ts';
export type { Connection };

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

/**
 * The SSH library is loaded on first use, while ssh reads its configuration. Nothing is loading any
 * more when an error is thrown.
 */
async function connectBySsh(name: string, connection: ConnectionSettings, options: ConnectOptions) {
  const library = import('./ssh/ssh.ts');
  const jumps = { jumps: connection.jump.length > 0 };
  const config = await resolveSshConfig(name, connection.address, connection, jumps).finally(() => library);
  const { openSsh } = await library;
  return openSsh(name, connection, config, options);
}
