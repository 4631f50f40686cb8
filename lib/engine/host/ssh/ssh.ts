import type { Duplex } from 'node:stream';
import pLimit, { type LimitFunction } from 'p-limit';
import pRetry from 'p-retry';
import type { ConnectionSettings } from '../../inventory/inventory.ts';
import { Unreachable } from '../connection-errors.ts';
import type { ConnectOptions, Transport } from '../transport/transport.ts';
import { resolveSshConfig } from './resolve-ssh-config.ts';
import type { SshConfig } from './ssh-config.ts';
import { LoginThrottled, logIn, NetworkError, type SshConnection } from './ssh-login.ts';
import { transportOver } from './ssh-transport.ts';

/**
 * Connects by SSH, through jump hosts if there are any. Tries again after a network failure, never
 * after a refused login or a wrong host key.
 *
 * @param config the operator's ssh_config for the host
 * @throws Unreachable
 */
export async function openSsh(
  name: string,
  connection: ConnectionSettings,
  config: SshConfig,
  { retries = 2, signal, timeout = 15 }: ConnectOptions,
): Promise<{ readonly transport: Transport; readonly user: string }> {
  const jumps = await resolveJumps(name, connection.jump.length > 0 ? connection.jump : config.jump);
  let throttled = false;
  const chain: SshConnection[] = [];
  const close = async () => {
    // The host first, then the jump hosts that carry it.
    for (const one of chain.splice(0).reverse()) await one.close();
  };

  // From jump host to jump host, the host itself last. Each one's key is verified by us, not by
  // the jump host before it.
  const connectAll = async () => {
    let via: Duplex | undefined;
    for (const [index, { label, config: jump }] of jumps.entries()) {
      // A pinned key is the host's own. The key file and known_hosts of the inventory are for jump
      // hosts, too.
      const settings = { ...connection, hostKeys: [] };
      const login = () => logIn(`${name} (jump host ${label})`, jump, settings, via, { signal, timeout });
      const opened = await (throttled && !via ? oneAtATime(label, login) : login());
      chain.push(opened);
      via = await forward(name, label, opened, jumps[index + 1]?.config ?? config);
    }
    chain.push(await logIn(name, config, connection, via, { signal, timeout }));
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
  return { transport: transportOver(name, [...chain], close, timeout), user: config.user };
}

/** A jump host, as `user@host:port`, and its settings. */
interface Jump {
  readonly label: string;
  readonly config: SshConfig;
}

/** More jump hosts in a row lead in a circle. */
const mostJumps = 16;

/**
 * The jump hosts on the way to a host. As with ssh, the first of them is reached as ssh_config has
 * it, which may be through others.
 *
 * @param jump `user@host:port`, as ProxyJump has them
 */
async function resolveJumps(name: string, jump: readonly string[], behind = 0): Promise<readonly Jump[]> {
  if (jump.length + behind > mostJumps) {
    const hint = 'nothing was connected to. See ProxyJump in ssh_config, and jump in the inventory';
    throw new Unreachable(
      name,
      `the way leads through more than ${mostJumps} jump hosts: ${jump[0]} and others`,
      hint,
    );
  }
  const jumps = await Promise.all(jump.map((label, index) => resolveJump(name, label, index > 0)));
  const [first] = jumps;
  return first ? [...(await resolveJumps(name, first.config.jump, behind + jump.length)), ...jumps] : [];
}

/**
 * @param isReached whether the jump host before it leads to it
 */
async function resolveJump(name: string, label: string, isReached: boolean): Promise<Jump> {
  const [, user, bracketed, plain, port] =
    /^(?:([^@]+)@)?(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(label) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) {
    throw new Unreachable(name, `${label} is not a jump host`, 'write it as: user@host:port');
  }
  const given = { user, port: port === undefined ? undefined : Number(port) };
  const config = await resolveSshConfig(`${name} (jump host ${label})`, host, given, { jumps: isReached });
  return { label, config };
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

async function forward(
  name: string,
  label: string,
  jump: SshConnection,
  { host, port }: SshConfig,
): Promise<Duplex> {
  try {
    return await jump.ssh.forwardOut('127.0.0.1', 0, host, port);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const hint = "is the host up, and does the jump host's firewall let it through?";
    throw new NetworkError(
      name,
      `jump host ${label} could not reach ${host} port ${port}: ${why}`,
      hint,
      error,
    );
  }
}
