import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyLine, pinnedKeys } from '../host-key.ts';
import { readKnownHosts } from '../known-hosts.ts';
import type { Hop } from '../link.ts';
import { placeOfMessage } from './server-words.ts';

/**
 * What is the same for each connection by OpenSSH. A host key that is not known is never accepted,
 * and a failure of the network is for us to try again.
 */
const always = [
  'StrictHostKeyChecking=yes',
  'VerifyHostKeyDNS=no',
  'NoHostAuthenticationForLocalhost=no',
  'UpdateHostKeys=no',
  'ControlPersist=no',
  'ClearAllForwardings=yes',
  'ForwardAgent=no',
  'ForwardX11=no',
  'Tunnel=no',
  'ConnectionAttempts=1',
  // A connection that is silent for four times this long is dead.
  'ServerAliveInterval=15',
  'ServerAliveCountMax=3',
  // It says what was offered, tried and refused.
  'LogLevel=DEBUG1',
];

/** The same, where this ssh has the option: newer ones only. */
const whereKnown = [
  ['forkafterauthentication', 'ForkAfterAuthentication=no'],
  ['stdinnull', 'StdinNull=no'],
  ['channeltimeout', 'ChannelTimeout=none'],
  // It puts the place in the source before the words of a line. A line of this place alone comes
  // before each message of the server, which ssh prints like words of its own.
  ['logverbose', `LogVerbose=sshconnect2.c:${placeOfMessage}:*`],
] as const;

/**
 * The arguments of ssh for a connection, and its environment. The files of the inventory are named
 * in the environment, and pinned host keys are in a file, as any user sees arguments.
 *
 * @param via the ProxyCommand that reaches the host
 * @param folder for files of this connection
 * @param more `asks`: whether somebody can be asked for a password; `isAlone`: whether the key file
 * of the inventory is tried without keys of the agent
 * @throws Unreachable for a pinned key that is not a key
 */
export function optionsFor(
  hop: Hop,
  via: string | undefined,
  folder: string,
  { timeout, asks, isAlone }: { readonly timeout: number; readonly asks: boolean; readonly isAlone: boolean },
): { readonly words: readonly string[]; readonly environment: NodeJS.ProcessEnv } {
  const { asked, config, identityFile, isDirect } = hop;
  const known = knownHostsOf(hop, folder);
  const proxy = via ?? (isDirect ? 'none' : undefined);
  const options = [
    ...always,
    ...whereKnown.flatMap(([name, option]) => (config.settings.has(name) ? [option] : [])),
    `ConnectTimeout=${Math.ceil(timeout)}`,
    ...(asks ? [] : ['BatchMode=yes']),
    ...(proxy === undefined ? [] : [`ProxyCommand=${proxy}`]),
    ...(identityFile === undefined ? [] : [`IdentityFile=\${${keyVariable}}`]),
    ...(isAlone ? ['IdentitiesOnly=yes'] : []),
    ...(known === undefined
      ? []
      : [`UserKnownHostsFile=\${${knownVariable}}`, 'GlobalKnownHostsFile=/dev/null']),
    ...(known !== undefined && config.settings.has('knownhostscommand') ? ['KnownHostsCommand=none'] : []),
  ];
  return {
    words: [
      ...['-N', '-T', ...options.flatMap((option) => ['-o', option])],
      ...(asked.user === undefined ? [] : ['-l', asked.user]),
      ...(asked.port === undefined ? [] : ['-p', String(asked.port)]),
      ...['--', asked.host],
    ],
    environment: { ...process.env, [keyVariable]: identityFile, [knownVariable]: known },
  };
}

const keyVariable = 'RPC_PLAYBOOKS_KEY';
const knownVariable = 'RPC_PLAYBOOKS_KNOWN_HOSTS';

/**
 * The file of known host keys, where the inventory decides that. Where it pins keys, known_hosts
 * cannot add to them, but can still revoke one.
 */
function knownHostsOf({ name, hostKeys, knownHostsFile, config }: Hop, folder: string): string | undefined {
  if (hostKeys.length === 0) return knownHostsFile;
  const files = knownHostsFile === undefined ? config.knownHostsFiles : [knownHostsFile];
  const revoked = readKnownHosts(files)
    .split('\n')
    .filter((line) => /^\s*@revoked\s/.test(line));
  const path = join(folder, 'known_hosts');
  const pinned = pinnedKeys(name, hostKeys).map((key) => `* ${keyLine(key)}`);
  writeFileSync(path, `${[...pinned, ...revoked].join('\n')}\n`, { mode: 0o600 });
  return path;
}
