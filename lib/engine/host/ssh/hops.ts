import type { ConnectionSettings } from '../../inventory/inventory.ts';
import { parseJump } from '../../inventory/jump-host.ts';
import { Unreachable } from '../connection-errors.ts';
import type { Hop } from './link.ts';
import { resolveSshConfig } from './resolve-ssh-config.ts';
import type { SshConfig } from './ssh-config.ts';
import { NetworkError } from './ssh-login.ts';

/**
 * The jump hosts of the inventory, or else those of ssh_config, and the host itself.
 *
 * @throws Unreachable
 */
export async function hopsTo(
  name: string,
  connection: ConnectionSettings,
  config: SshConfig,
): Promise<readonly Hop[]> {
  const { address: host, user, port, jump } = connection;
  const isNone = jump[0] === 'none';
  const jumps = await resolveJumps(name, jump.length > 0 ? jump.filter(() => !isNone) : config.jump);
  const labels = jumps.map(({ label }) => label);
  const hops = jumps.map(({ label, asked, config: own }, at) => ({
    name: `${name} (jump host ${label})`,
    asked,
    config: own,
    // A pinned key is the host's own. The key file and known_hosts of the inventory are for jump
    // hosts, too.
    hostKeys: [],
    knownHostsFile: connection.knownHostsFile,
    identityFile: connection.identityFile,
    behind: labels.slice(0, at),
    isDirect: false,
    isJump: true,
  }));
  const asked = { host, user, port };
  return [...hops, { ...connection, name, asked, config, behind: labels, isDirect: isNone, isJump: false }];
}

/** A jump host, as `user@host:port`, and its settings. */
interface Jump {
  readonly label: string;
  readonly asked: Hop['asked'];
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
  const written = parseJump(label);
  if (!written) throw new Unreachable(name, `${label} is not a jump host`, 'write it as: user@host:port');
  const { host, ...given } = written;
  const config = await resolveSshConfig(`${name} (jump host ${label})`, host, given, { jumps: isReached });
  return { label, asked: { host, ...given }, config };
}

/**
 * What decides about the login at a jump host.
 *
 * @param way how it is reached
 */
export function jumpKey({ asked, identityFile, knownHostsFile }: Hop, way: string | undefined): string {
  return JSON.stringify([asked, identityFile, knownHostsFile, way]);
}

/** A jump host could not reach the next hop. */
export function notForwarded({ name, behind, config: { host, port } }: Hop, error: unknown): Unreachable {
  const why = error instanceof Error ? error.message : String(error);
  const jump = `jump host ${behind.at(-1)}`;
  const reason = error instanceof Error && 'reason' in error ? error.reason : undefined;
  if (reason === prohibited || /administratively prohibited/.test(why)) {
    const hint = `nothing was connected to. See AllowTcpForwarding and PermitOpen of its sshd`;
    return new Unreachable(name, `${jump} forwards nothing to ${host} port ${port}`, hint, error);
  }
  const hint = "is the host up, and does the jump host's firewall let it through?";
  return new NetworkError(name, `${jump} could not reach ${host} port ${port}: ${why}`, hint, error);
}

/** Why a channel is not opened, as the protocol numbers it (RFC 4254, 5.1). */
const prohibited = 1;
