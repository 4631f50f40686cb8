import { constants } from 'node:os';
import { type Duplex, Readable } from 'node:stream';
import pRetry from 'p-retry';
import type { Reach } from '../inventory/inventory.ts';
import { ConnectionLost, Unreachable } from './failures.ts';
import { slots } from './slots.ts';
import { resolveSshConfig, type SshConfig } from './ssh-config.ts';
import { type LoggedIn, logIn, TryAgain, trySeconds, type Waiting } from './ssh-login.ts';
import type { ConnectOptions, Transport } from './transport.ts';

/** sshd allows ten channels, frees those of ended commands late, and others may share the account. */
const channels = 3;

/**
 * Connects by SSH, through jump hosts where there are some. Tries again where the network is at fault, never after a refused
 * login or a wrong host key.
 *
 * @throws Unreachable
 */
export async function openSsh(
  name: string,
  reach: Reach,
  { retries = 2, signal, timeout = trySeconds }: ConnectOptions,
): Promise<{ readonly transport: Transport; readonly user: string }> {
  const config = await resolveSshConfig(reach.address, reach);
  const hops = await resolveHops(name, reach.jump.length > 0 ? reach.jump : config.jump);
  if (hops.length === 0 && config.proxyCommand !== undefined) {
    throw new Unreachable(
      name,
      `ssh_config reaches ${reach.address} by ProxyCommand, which is not understood here`,
      'name the jump host instead: ProxyJump in ssh_config, or jump in the inventory',
    );
  }
  const chain = await pRetry(() => connectChain(name, config, hops, reach, { signal, timeout }), {
    retries,
    minTimeout: 1000,
    shouldRetry: ({ error }) => error instanceof TryAgain,
    ...(signal ? { signal } : {}),
  }).catch((error: unknown) => {
    throw error instanceof Unreachable
      ? error
      : new Unreachable(name, 'interrupted while connecting', undefined, error);
  });
  return { transport: transportOver(name, chain), user: config.user };
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

/** From hop to hop, the host itself last. Each one's key is verified by us, not by the hop before it. */
async function connectChain(
  name: string,
  config: SshConfig,
  hops: readonly Hop[],
  reach: Reach,
  waiting: Waiting,
): Promise<LoggedIn[]> {
  const chain: LoggedIn[] = [];
  try {
    let via: Duplex | undefined;
    for (const [index, { label, config: hop }] of hops.entries()) {
      // A pinned key is the host's own. The key file and known_hosts of the inventory are for jump hosts, too.
      const own = { hostKeys: [], knownHostsFile: reach.knownHostsFile, identityFile: reach.identityFile };
      const jump = await logIn(`${name} (jump host ${label})`, hop, own, via, waiting);
      chain.push(jump);
      via = await forward(name, label, jump, hops[index + 1]?.config ?? config);
    }
    chain.push(await logIn(name, config, reach, via, waiting));
    return chain;
  } catch (error) {
    await closeChain(chain);
    throw error;
  }
}

async function forward(name: string, label: string, jump: LoggedIn, { host, port }: SshConfig): Promise<Duplex> {
  try {
    return await jump.ssh.forwardOut('127.0.0.1', 0, host, port);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const hint = "is the host up, and does the jump host's firewall let it through?";
    throw new TryAgain(name, `jump host ${label} could not reach ${host} port ${port}: ${why}`, hint, error);
  }
}

/** The host first, then the jump hosts that carry it. */
async function closeChain(chain: readonly LoggedIn[]): Promise<void> {
  for (const one of [...chain].reverse()) await one.close();
}

function transportOver(name: string, chain: readonly LoggedIn[]): Transport {
  const last = chain.at(-1);
  if (!last) throw new RangeError('an empty chain');
  const slot = slots(channels);
  const lost = (cause?: unknown) => {
    const why = chain.map((one) => one.ended()).find((ended) => ended !== undefined) ?? 'the host closed it';
    return new ConnectionLost(name, why, cause);
  };
  return {
    close: () => closeChain(chain),
    run: (command, input, onStdout) =>
      slot(async () => {
        // latin1 keeps every byte as it is; the library decodes chunk by chunk, which breaks anything else.
        const exec = () =>
          last.ssh.execCommand(command, {
            encoding: 'latin1',
            noTrim: true,
            onStdout,
            ...(input ? { stdin: Readable.from([input]) } : {}),
          });
        const result = await pRetry(exec, {
          retries: 5,
          minTimeout: 100,
          shouldRetry: ({ error }) => refusedChannel(error),
        }).catch((error: unknown) => {
          if (error instanceof Error && refusedChannel(error)) throw tooFewSessions(name, error);
          throw lost(error);
        });
        const code = result.code ?? signalCode(result.signal);
        // No code and no signal: nobody knows how the command ended.
        if (code === undefined) throw lost();
        return {
          code,
          stdout: Buffer.from(result.stdout, 'latin1'),
          stderr: Buffer.from(result.stderr, 'latin1'),
        };
      }),
  };
}

/** The host said no to one more channel, which it does while ended ones are not freed yet. Nothing was run. */
function refusedChannel(error: Error): boolean {
  return 'reason' in error && /Channel open failure/.test(error.message);
}

function tooFewSessions(name: string, cause: Error): Unreachable {
  const hint = `its sshd_config should allow at least ${channels} (MaxSessions)`;
  return new Unreachable(name, 'the host refuses to run more commands at once on one connection', hint, cause);
}

/** As a shell has it: 128 and the signal's number. */
function signalCode(signal: string | null): number | undefined {
  if (signal === null) return undefined;
  const number = Object.entries(constants.signals).find(([name]) => name === `SIG${signal.replace(/^SIG/, '')}`)?.[1];
  return 128 + (number ?? 127);
}
