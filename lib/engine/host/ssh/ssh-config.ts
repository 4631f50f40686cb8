import { join } from 'node:path';
import { account } from '../../file/account.ts';

/** Address and login of a host, according to the operator's ssh_config. */
export type SshConfig = Readonly<ReturnType<typeof parseSshConfig>>;

/** Settings of the inventory. They have priority over ssh_config, like options of ssh. */
export interface GivenLogin {
  readonly user?: string | undefined;
  readonly port?: number | undefined;
}

/** @param text output of `ssh -G`; empty for the defaults */
export function parseSshConfig(text: string, given: GivenLogin & { readonly host: string }) {
  const values = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^(\S+) (.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const key = name.toLowerCase();
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  const first = (name: string) => values.get(name)?.[0];
  const unlessNone = (name: string) => (first(name) === 'none' ? undefined : first(name));

  // Like ssh, by the account and not by $HOME: `ssh -G` has expanded some paths already.
  const { username, homedir } = account();
  const host = first('hostname') ?? given.host;
  const port = given.port ?? Number(first('port') ?? 22);
  const user = given.user ?? first('user') ?? username;
  const tokens: Record<string, string> = {
    '%%': '%',
    '%d': homedir,
    '%h': host,
    '%p': String(port),
    '%r': user,
    '%u': username,
  };
  // The tokens of ssh_config(5) that a path may contain.
  const expand = (path: string) =>
    (/^~(\/|$)/.test(path) ? join(homedir, path.slice(1)) : path).replace(/%./g, (token) => tokens[token] ?? token);
  const expandAll = (files: readonly string[]) => files.filter((file) => file !== 'none').map(expand);
  const filesOf = (name: string, usual: string) => expandAll((first(name) ?? usual).split(' '));
  return {
    host,
    port,
    user,
    /** Key files to try, in order; some may not exist. */
    identityFiles: expandAll(values.get('identityfile') ?? defaultIdentities),
    /** Whether only these keys are tried, although an agent may have more. */
    identitiesOnly: first('identitiesonly') === 'yes',
    /** The agent's socket. */
    agent: agentSocket(first('identityagent'), expand),
    /** Jump hosts in order, as `user@host:port`. */
    jump: unlessNone('proxyjump')?.split(',') ?? [],
    proxyCommand: unlessNone('proxycommand'),
    knownHostsFiles: [
      ...filesOf('userknownhostsfile', '~/.ssh/known_hosts ~/.ssh/known_hosts2'),
      ...filesOf('globalknownhostsfile', '/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2'),
    ],
    /** The name of the host in known_hosts, if that is not its address. */
    hostKeyAlias: unlessNone('hostkeyalias'),
  };
}

const defaultIdentities = ['~/.ssh/id_ed25519', '~/.ssh/id_ecdsa', '~/.ssh/id_rsa'];

/** IdentityAgent: a path, `none`, the word SSH_AUTH_SOCK, or `$` and the name of a variable. */
function agentSocket(text: string | undefined, expand: (path: string) => string): string | undefined {
  if (text === 'none') return undefined;
  if (text === undefined || text === 'SSH_AUTH_SOCK') return process.env.SSH_AUTH_SOCK || undefined;
  if (text.startsWith('$')) return process.env[text.replace(/^\$\{?|\}$/g, '')] || undefined;
  return expand(text);
}
