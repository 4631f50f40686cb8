import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { account } from '../../file/account.ts';
import { Unreachable } from '../connection-errors.ts';
import { hasOptionsBeyondLibrary } from './beyond-options.ts';
import { homeOf } from './home-of.ts';
import { algorithmsOf, type SshAlgorithms } from './ssh-algorithms.ts';
import type { SshSettings } from './ssh-settings.ts';

/** Address and login of a host, according to the operator's ssh_config. */
export interface SshConfig {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** IP version of the connection; undefined for any. */
  readonly family: 4 | 6 | undefined;
  /** Address of this machine to connect from. */
  readonly bindAddress: string | undefined;
  /** Key files to try, in order; some may not exist. */
  readonly identityFiles: readonly string[];
  /** Whether only these keys are tried, although an agent may have more. */
  readonly identitiesOnly: boolean;
  /** The agent's socket. */
  readonly agent: string | undefined;
  /** Jump hosts in order, as `user@host:port`. */
  readonly jump: readonly string[];
  readonly knownHostsFiles: readonly string[];
  /** The name of the host in known_hosts, if that is not its address. */
  readonly hostKeyAlias: string | undefined;
  /** A file with host keys that are never trusted. */
  readonly revokedHostKeys: string | undefined;
  /** RSA keys of fewer bits are not used. */
  readonly leastRsaBits: number;
  readonly algorithms: SshAlgorithms;
  /** Whether it needs what the SSH library cannot do. */
  readonly isBeyondLibrary: boolean;
  /** All of `ssh -G`; empty where there is no ssh. */
  readonly settings: SshSettings;
}

/** Settings of the inventory. They have priority over ssh_config, like options of ssh. */
export interface GivenLogin {
  readonly user?: string | undefined;
  readonly port?: number | undefined;
}

/** Which host the settings are for. */
export interface AskedHost extends GivenLogin {
  /** What ssh was asked for. */
  readonly host: string;
  /** The host in errors. */
  readonly name: string;
  /** The settings of that ssh without any file. */
  readonly usual: SshSettings;
  /** Whether the inventory says how the host is reached. */
  readonly jumps?: boolean;
}

/**
 * @param settings of `ssh -G`; empty for the defaults
 * @throws Unreachable for an address of another IP version than AddressFamily
 */
export function parseSshConfig(settings: SshSettings, given: AskedHost): SshConfig {
  const first = (option: string) => settings.get(option)?.[0];
  const unlessNone = (option: string) => (first(option) === 'none' ? undefined : first(option));

  const host = first('hostname') ?? given.host;
  const port = given.port ?? Number(first('port') ?? 22);
  const user = given.user ?? first('user') ?? account().username;
  const hostKeyAlias = unlessNone('hostkeyalias');
  const proxyJump = unlessNone('proxyjump');
  const expand = expansionOf({ asked: given.host, host, port, user, hostKeyAlias, proxyJump });
  const expandAll = (files: readonly string[]) => files.filter((file) => file !== 'none').map(expand);
  const filesOf = (option: string, usual: string) => expandAll(filesIn(first(option) ?? usual));
  const revoked = unlessNone('revokedhostkeys');
  const family = families[first('addressfamily') ?? ''];
  refuseOtherFamily(given.name, host, family);
  return {
    host,
    port,
    user,
    family,
    bindAddress: unlessNone('bindaddress'),
    identityFiles: expandAll(settings.get('identityfile') ?? defaultIdentities),
    identitiesOnly: first('identitiesonly') === 'yes',
    agent: agentSocket(first('identityagent'), expand),
    jump: proxyJump?.split(',') ?? [],
    knownHostsFiles: [
      ...filesOf('userknownhostsfile', '~/.ssh/known_hosts ~/.ssh/known_hosts2'),
      ...filesOf('globalknownhostsfile', '/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2'),
    ],
    hostKeyAlias,
    revokedHostKeys: revoked === undefined ? undefined : expand(revoked),
    leastRsaBits: Number(first('requiredrsasize') ?? 1024),
    algorithms: algorithmsOf(settings, given.usual),
    isBeyondLibrary: hasOptionsBeyondLibrary(settings, given.usual, given.jumps ?? false),
    settings,
  };
}

/**
 * `ssh -G` prints several files in one line, without the quotes around one with a blank. So what
 * does not begin like a path goes on with the path before it.
 */
function filesIn(list: string): readonly string[] {
  return list.split(/(?<=^[^/~%$].*) | (?=[/~%$])/);
}

/**
 * An address that is written as numbers has a version of its own.
 *
 * @throws Unreachable where ssh_config wants the other one
 */
function refuseOtherFamily(name: string, host: string, family: 4 | 6 | undefined): void {
  if (family === undefined || isIP(host) === 0 || isIP(host) === family) return;
  throw new Unreachable(
    name,
    `ssh_config wants IPv${family} (AddressFamily), and ${host} is an address of IPv${isIP(host)}`,
    'nothing was connected to. Correct one of the two',
  );
}

const families: Readonly<Record<string, 4 | 6 | undefined>> = { inet: 4, inet6: 6 };

const defaultIdentities = ['~/.ssh/id_ed25519', '~/.ssh/id_ecdsa', '~/.ssh/id_rsa'];

interface Expanded {
  /** What ssh was asked for. */
  readonly asked: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly hostKeyAlias: string | undefined;
  readonly proxyJump: string | undefined;
}

/**
 * Expands `~`, the variables and the tokens of ssh_config(5) in a path: `ssh -G` expands those of
 * some options only.
 */
function expansionOf({
  asked,
  host,
  port,
  user,
  hostKeyAlias,
  proxyJump = '',
}: Expanded): (path: string) => string {
  // Like ssh, by the account and not by $HOME: `ssh -G` has expanded some paths already.
  const { username, homedir, uid } = account();
  const here = hostname();
  const tokens: Readonly<Record<string, string>> = {
    '%%': '%',
    '%C': createHash('sha1').update(`${here}${host}${port}${user}${proxyJump}`).digest('hex'),
    '%d': homedir,
    '%h': host,
    '%i': String(uid),
    '%j': proxyJump,
    '%k': hostKeyAlias ?? asked,
    '%L': here.replace(/\..*/s, ''),
    '%l': here,
    '%n': asked,
    '%p': String(port),
    '%r': user,
    '%u': username,
  };
  const atHome = (path: string) =>
    path.replace(/^~([^/%$]*)(?=\/|$)/, (_, user: string) => (user === '' ? homedir : homeOf(user)));
  return (path) =>
    atHome(path).replace(
      /%.|\$\{(\w+)\}/g,
      (found, variable?: string) => (variable ? process.env[variable] : tokens[found]) ?? found,
    );
}

/** IdentityAgent: a path, `none`, the word SSH_AUTH_SOCK, or `$` and the name of a variable. */
function agentSocket(text: string | undefined, expand: (path: string) => string): string | undefined {
  if (text === 'none') return undefined;
  if (text === undefined || text === 'SSH_AUTH_SOCK') return process.env.SSH_AUTH_SOCK || undefined;
  if (/^\$(\w+|\{\w+\})$/.test(text)) return process.env[text.replace(/^\$\{?|\}$/g, '')] || undefined;
  return expand(text);
}
