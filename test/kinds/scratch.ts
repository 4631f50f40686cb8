import { docker, labContainers } from '../../lab/docker.mjs';
import { createHosts, removeContainers } from '../../lab/hosts.mjs';
import { imageOf } from '../../lab/images.mjs';
import { ensureClientKey, identityFile, knownHostsFile } from '../../lab/keys.mjs';
import { withLock } from '../../lab/lock.mjs';
import { waitForHost } from '../../lab/reach.mjs';
import { outsideOfHostsUp } from '../../lab/up.mjs';
import { type Connection, connect } from '../../lib/engine/host/connection.ts';
import type { ConnectionSettings } from '../../lib/engine/inventory/inventory.ts';
import { hostOver, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';

/** Additional servers of the lab; several, as tests may run in more than one process. */
const places = Array.from({ length: 9 }, (_, at) => ({
  name: `scratch-${at + 1}`,
  container: `rpc-lab-scratch-${at + 1}`,
  address: `172.30.77.${91 + at}`,
  user: 'root',
}));
const quietly = () => {};

export interface ScratchHost {
  readonly host: TestHost;
  /** How to reach it by a connection of one's own. */
  readonly settings: ConnectionSettings;
  /** Its container, for access without the connection. */
  readonly container: string;
  readonly address: string;
  /**
   * Switches it off and on again.
   *
   * @returns a new connection: the old one is closed
   */
  reboot(): Promise<TestHost>;
  remove(): Promise<void>;
}

/**
 * A bare server for one test file to use up, reached by SSH. Starts the lab without its own hosts,
 * which other tests may stop.
 *
 * @param getImage gives the server's image; two processes never do so at once
 */
export async function scratchHost(getImage = async () => imageOf('host')): Promise<ScratchHost> {
  await outsideOfHostsUp(quietly);
  const scratch = await withLock(quietly, async () => {
    const taken = ((await labContainers()) ?? []).map((container) => container.name);
    const place = places.find(({ container }) => !taken.includes(container));
    if (!place)
      throw new Error(`${taken.join(', ')} are left over from tests that were cut off: npm run lab:down`);
    await createHosts([place], await ensureClientKey(), await getImage());
    return place;
  });
  await waitForHost(scratch);
  let connection = await openHost(scratch);
  return {
    host: hostOver(connection),
    settings: settingsOf(scratch),
    container: scratch.container,
    address: scratch.address,
    async reboot() {
      await connection.close();
      await docker(['restart', '--time', '60', scratch.container]);
      await waitForHost(scratch);
      connection = await openHost(scratch);
      return hostOver(connection);
    },
    async remove() {
      await connection.close();
      await removeContainers([scratch.container]);
    },
  };
}

function openHost(scratch: (typeof places)[number]): Promise<Connection> {
  return connect(scratch.name, settingsOf(scratch));
}

function settingsOf({ address, user }: (typeof places)[number]): ConnectionSettings {
  return {
    type: 'ssh',
    address,
    port: undefined,
    user,
    hostKeys: [],
    identityFile,
    knownHostsFile,
    jump: [],
    client: undefined,
    becomePassword: undefined,
  };
}
