import pLimit, { type LimitFunction } from 'p-limit';
import pRetry from 'p-retry';
import type { ConnectionSettings } from '../../inventory/inventory.ts';
import { Unreachable } from '../connection-errors.ts';
import type { ConnectOptions, Transport } from '../transport/transport.ts';
import { isBeyondLibrary } from './beyond-library.ts';
import { hopsTo, notForwarded } from './hops.ts';
import { logInByLibrary } from './library-login.ts';
import type { AnyWay, Hop, LogIn, Login, LoginLimits } from './link.ts';
import { logInByOpenSsh } from './openssh/openssh-login.ts';
import type { SshConfig } from './ssh-config.ts';
import { BeyondLibrary, LoginThrottled, NetworkError, NoKeyAccepted } from './ssh-login.ts';
import { transportOver } from './ssh-transport.ts';
import { logsInWithoutKey } from './without-key.ts';

/**
 * Connects by SSH, through jump hosts if there are any: by the SSH library, or by OpenSSH where
 * the inventory says so, or where ssh_config, keys or the server need what the library cannot. Where
 * no key is accepted, OpenSSH tries what else it may.
 * Tries again after a network failure, never after a refused login or a wrong host key.
 *
 * @param config the operator's ssh_config for the host
 * @throws Unreachable
 */
export async function openSsh(
  name: string,
  connection: ConnectionSettings,
  config: SshConfig,
  options: ConnectOptions,
): Promise<{ readonly transport: Transport; readonly user: string }> {
  const hops = await hopsTo(name, connection, config);
  const { user } = config;
  const byOpenSsh = (how = options) => openChain(name, hops, logInByOpenSsh, how);
  // Without ssh there are no settings of it.
  const hasSsh = config.settings.size > 0;
  if (connection.client === 'openssh' || (hasSsh && (await isBeyondLibrary(hops))))
    return { transport: await byOpenSsh(), user };
  try {
    return { transport: await openChain(name, hops, logInByLibrary, options), user };
  } catch (error) {
    if (!hasSsh) throw error;
    if (error instanceof BeyondLibrary) return { transport: await byOpenSsh(), user };
    if (!(error instanceof NoKeyAccepted && (await logsInWithoutKey(hops)))) throw error;
    // A host without the key is no reason to ask for a password.
    const { ask: _, ...unasked } = options;
    return { transport: await byOpenSsh(unasked), user };
  }
}

/**
 * From jump host to jump host, the host itself last. Each one's key is verified by us, not by the
 * jump host before it.
 */
async function openChain<Via extends AnyWay>(
  name: string,
  hops: readonly Hop[],
  logIn: LogIn<Via>,
  { retries = 2, signal, timeout = 15, ask }: ConnectOptions,
): Promise<Transport> {
  let throttled = false;
  const limits: LoginLimits = { signal, timeout, ask };
  const chain: Login<Via>[] = [];
  const close = async () => {
    // The host first, then the jump hosts that carry it.
    for (const one of chain.splice(0).reverse()) await one.close();
  };
  const connectAll = async () => {
    let via: Via | undefined;
    for (const [index, hop] of hops.entries()) {
      const next = hops[index + 1];
      const login = () => logIn(hop, via, limits);
      const opened = await (throttled && next && !via
        ? oneAtATime(next.behind.at(-1) ?? '', login)
        : login());
      chain.push(opened);
      if (next) {
        via = await opened.forward(next.config).catch((error: unknown) => {
          throw notForwarded(next, error);
        });
      }
    }
  };
  await pRetry(connectAll, {
    retries,
    minTimeout: 1000,
    async shouldRetry({ error }) {
      await close();
      throttled ||= error instanceof LoginThrottled;
      return error instanceof NetworkError;
    },
    ...(signal ? { signal } : {}),
  }).catch(async (error: unknown) => {
    await close();
    if (error instanceof Unreachable) throw error;
    throw new Unreachable(name, 'interrupted while connecting', undefined, error);
  });
  return transportOver(name, [...chain], close, timeout);
}

const queues = new Map<string, LimitFunction>();

/**
 * Logins at a jump host that throttled a login (MaxStartups) while all hosts behind it were
 * connected to at once. It may need a moment to notice that the previous login has finished.
 */
function oneAtATime<T>(label: string, login: () => Promise<T>): Promise<T> {
  const queue = queues.get(label) ?? pLimit(1);
  queues.set(label, queue);
  const shouldRetry = ({ error }: { readonly error: Error }) => error instanceof LoginThrottled;
  return queue(() => pRetry(login, { retries: 5, minTimeout: 200, factor: 1, shouldRetry }));
}
