import type { Duplex } from 'node:stream';
import pLimit, { type LimitFunction } from 'p-limit';
import pRetry from 'p-retry';
import type { ConnectionSettings } from '../../inventory/inventory.ts';
import { Unreachable } from '../connection-errors.ts';
import type { ConnectOptions, Transport } from '../transport/transport.ts';
import { resolveSshConfig, type SshConfig } from './ssh-config.ts';
import { LoginThrottled, logIn, NetworkError, type SshConnection, trySeconds, type Waiting } from './ssh-login.ts';
import { transportOver } from './ssh-transport.ts';

/**
 * Connects by SSH, through jump hosts where there are some. Tries again where the network is at fault, never after a refused
 * login or a wrong host key.
 *
 * @param config what the operator's ssh_config has for the host
 * @throws Unreachable
 */
export async function openSsh(
  name: string,
  connection: ConnectionSettings,
  config: SshConfig,
  { retries = 2, signal, timeout = trySeconds }: ConnectOptions,
): Promise<{ readonly transport: Transport; readonly user: string }> {
  const hops = await resolveHops(name, connection.jump.length > 0 ? connection.jump : config.jump);
  if (hops.length === 0 && config.proxyCommand !== undefined) {
    throw new Unreachable(
      name,
      `ssh_config reaches ${connection.address} by ProxyCommand, which is not understood here`,
      'name the jump host instead: ProxyJump in ssh_config, or jump in the inventory',
    );
  }
  let queues = false;
  const chain = await pRetry(() => connectChain(name, config, hops, connection, { signal, timeout }, queues), {
    retries,
    minTimeout: 1000,
    shouldRetry(failed) {
      queues ||= turnedAway(failed);
      return failed.error instanceof NetworkError;
    },
    ...(signal ? { signal } : {}),
  }).catch((error: unknown) => {
    throw error instanceof Unreachable
      ? error
      : new Unreachable(name, 'interrupted while connecting', undefined, error);
  });
  return { transport: transportOver(name, chain, () => closeChain(chain), timeout), user: config.user };
}

interface Hop {
  readonly label: string;
  readonly config: SshConfig;
}

/** @param jump `user@host:port`, as ProxyJump has them */
async function resolveHops(name: string, jump: readonly string[]): Promise<Hop[]> {
  return Promise.all(
    jump.map(async (text) => {
      const [, user, bracketed, plain, port] = /^(?:([^@]+)@)?(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
      const host = bracketed ?? plain;
      if (host === undefined) throw new Unreachable(name, `${text} is no jump host`, 'it looks like: user@host:port');
      const given = { user, port: port === undefined ? undefined : Number(port) };
      return { label: text, config: await resolveSshConfig(host, given) };
    }),
  );
}

const linesAtJumps = new Map<string, LimitFunction>();

/**
 * At a jump host that turned somebody away when all hosts behind it were reached for together (MaxStartups), logins go one after
 * another. It may need a moment to see that the one before is over.
 */
function inLine<T>(label: string, login: () => Promise<T>): Promise<T> {
  const line = linesAtJumps.get(label) ?? pLimit(1);
  linesAtJumps.set(label, line);
  const again = { retries: 5, minTimeout: 200, factor: 1, shouldRetry: turnedAway };
  return line(() => pRetry(login, again));
}

function turnedAway({ error }: { readonly error: Error }): boolean {
  return error instanceof LoginThrottled;
}

/** From hop to hop, the host itself last. Each one's key is verified by us, not by the hop before it. */
async function connectChain(
  name: string,
  config: SshConfig,
  hops: readonly Hop[],
  connection: ConnectionSettings,
  waiting: Waiting,
  queues: boolean,
): Promise<SshConnection[]> {
  const chain: SshConnection[] = [];
  try {
    let via: Duplex | undefined;
    for (const [index, { label, config: hop }] of hops.entries()) {
      // A pinned key is the host's own. The key file and known_hosts of the inventory are for jump hosts, too.
      const own = { hostKeys: [], knownHostsFile: connection.knownHostsFile, identityFile: connection.identityFile };
      const login = () => logIn(`${name} (jump host ${label})`, hop, own, via, waiting);
      const jump = await (queues && !via ? inLine(label, login) : login());
      chain.push(jump);
      via = await forward(name, label, jump, hops[index + 1]?.config ?? config);
    }
    chain.push(await logIn(name, config, connection, via, waiting));
    return chain;
  } catch (error) {
    await closeChain(chain);
    throw error;
  }
}

async function forward(name: string, label: string, jump: SshConnection, { host, port }: SshConfig): Promise<Duplex> {
  try {
    return await jump.ssh.forwardOut('127.0.0.1', 0, host, port);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const hint = "is the host up, and does the jump host's firewall let it through?";
    throw new NetworkError(name, `jump host ${label} could not reach ${host} port ${port}: ${why}`, hint, error);
  }
}

/** The host first, then the jump hosts that carry it. */
async function closeChain(chain: readonly SshConnection[]): Promise<void> {
  for (const one of [...chain].reverse()) await one.close();
}
