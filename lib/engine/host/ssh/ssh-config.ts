import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { runSsh } from './run-ssh.ts';

/** Where and how to log in, as the operator's ssh_config has it. */
export interface SshConfig {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Key files to try, in order; not all of them need be there. */
  readonly identityFiles: readonly string[];
  /** Whether only these keys are tried, though an agent may hold more. */
  readonly identitiesOnly: boolean;
  /** The agent's socket. */
  readonly agent: string | undefined;
  /** Jump hosts in order, as `user@host:port`. */
  readonly jump: readonly string[];
  readonly proxyCommand: string | undefined;
  readonly knownHostsFiles: readonly string[];
  /** The name under which the host's key is kept, where that is not its address. */
  readonly hostKeyAlias: string | undefined;
}

/**
 * What `ssh -G` says of a host. Where there is no ssh client, nothing is configured, and its usual values stand.
 *
 * @param address an address, or a name from ssh_config
 * @param given what the inventory says, which goes before ssh_config as options do on ssh's command line
 */
export async function resolveSshConfig(
  address: string,
  given: { readonly user?: string | undefined; readonly port?: number | undefined } = {},
): Promise<SshConfig> {
  const options = [
    ...(given.user === undefined ? [] : ['-l', given.user]),
    ...(given.port === undefined ? [] : ['-p', String(given.port)]),
  ];
  const said = await runSsh(['-G', ...options, '--', address]);
  return parseSshConfig(said, { host: address, user: given.user, port: given.port });
}

/** @param text what `ssh -G` printed; empty for the usual values */
export function parseSshConfig(
  text: string,
  given: { readonly host: string; readonly user?: string | undefined; readonly port?: number | undefined },
): SshConfig {
  const values = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const at = line.indexOf(' ');
    if (at < 0) continue;
    const name = line.slice(0, at).toLowerCase();
    values.set(name, [...(values.get(name) ?? []), line.slice(at + 1)]);
  }
  const one = (name: string) => values.get(name)?.[0];
  const set = (name: string) => (one(name) === 'none' ? undefined : one(name));

  const host = one('hostname') ?? given.host;
  const port = given.port ?? Number(one('port') ?? 22);
  const user = given.user ?? one('user') ?? userInfo().username;
  const path = (text: string) => expand(text, { host, port, user });
  const files = (name: string, usual: string) => (one(name) ?? usual).split(' ').filter((file) => file !== 'none');
  return {
    host,
    port,
    user,
    identityFiles: (values.get('identityfile') ?? usualIdentities).filter((file) => file !== 'none').map(path),
    identitiesOnly: one('identitiesonly') === 'yes',
    agent: agentSocket(one('identityagent'), path),
    jump: set('proxyjump')?.split(',') ?? [],
    proxyCommand: set('proxycommand'),
    knownHostsFiles: [
      ...files('userknownhostsfile', '~/.ssh/known_hosts ~/.ssh/known_hosts2'),
      ...files('globalknownhostsfile', '/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2'),
    ].map(path),
    hostKeyAlias: set('hostkeyalias'),
  };
}

const usualIdentities = ['~/.ssh/id_ed25519', '~/.ssh/id_ecdsa', '~/.ssh/id_rsa'];

/** IdentityAgent: a path, `none`, the word SSH_AUTH_SOCK, or `$` and the name of a variable. */
function agentSocket(text: string | undefined, path: (text: string) => string): string | undefined {
  if (text === 'none') return undefined;
  if (text === undefined || text === 'SSH_AUTH_SOCK') return process.env.SSH_AUTH_SOCK || undefined;
  if (text.startsWith('$')) return process.env[text.replace(/^\$\{?|\}$/g, '')] || undefined;
  return path(text);
}

/** `~` and the tokens of ssh_config(5) that may stand in a path. */
function expand(text: string, { host, port, user }: { host: string; port: number; user: string }): string {
  const tokens: Record<string, string> = {
    '%%': '%',
    '%d': homedir(),
    '%h': host,
    '%p': String(port),
    '%r': user,
    '%u': userInfo().username,
  };
  const home = text === '~' || text.startsWith('~/') ? join(homedir(), text.slice(1)) : text;
  return home.replace(/%./g, (token) => tokens[token] ?? token);
}
