import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConnectionSettings } from '../../inventory/inventory.ts';
import { standInFor, temporaryDirectory } from './local-connection.ts';

/** An SSH server on this machine, and a private key that lets root in. */
interface Server {
  readonly port: number;
  readonly hostKey: string;
  readonly clientKey: string;
}

/** How root logs in to a server on this machine. */
export function settingsFor(
  { port, hostKey, clientKey }: Server,
  more: Partial<ConnectionSettings> = {},
): ConnectionSettings {
  return {
    type: 'ssh',
    address: '127.0.0.1',
    port,
    user: 'root',
    hostKeys: [hostKey],
    identityFile: clientKey,
    knownHostsFile: undefined,
    jump: [],
    client: undefined,
    becomePassword: undefined,
    ...more,
  };
}

/**
 * The real ssh reads this configuration in place of the operator's, for the rest of the test.
 *
 * @returns the path of its file
 */
export function realSshWith(config: string): string {
  const file = join(temporaryDirectory(), 'config');
  writeFileSync(file, config);
  standInFor('ssh', `[ "$1" = -F ] || set -- -F ${file} "$@"; exec /usr/bin/ssh "$@"`);
  return file;
}
