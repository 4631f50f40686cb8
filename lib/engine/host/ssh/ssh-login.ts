import { connect as connectSocket, Socket, type TcpNetConnectOpts } from 'node:net';
import { dirname } from 'node:path';
import type { Duplex } from 'node:stream';
import { NodeSSH } from 'node-ssh';
import type {
  Algorithms,
  AuthHandlerMiddleware,
  CipherAlgorithm,
  KexAlgorithm,
  MacAlgorithm,
  ServerHostKeyAlgorithm,
} from 'ssh2';
import { readable } from '../../text/printable.ts';
import { shellWord } from '../../text/shell-word.mjs';
import { Unreachable } from '../connection-errors.ts';
import { checkHostKey } from './host-key.ts';
import type { Hop } from './link.ts';
import { sshOption } from './option-table.ts';
import type { SshConfig } from './ssh-config.ts';
import { type Credentials, findCredentials } from './ssh-keys.ts';

/** One logged-in connection. */
export interface SshConnection {
  readonly ssh: NodeSSH;
  /** Why it ended, if it has. */
  ended(): string | undefined;
  close(): Promise<void>;
}

/** The network failed: another attempt may succeed. */
export class NetworkError extends Unreachable {}

/** The server is in order, and the SSH library cannot log in there. */
export class BeyondLibrary extends Unreachable {}

/** There is no key that the server accepts. */
export class NoKeyAccepted extends Unreachable {}

/** The host answers, and accepts no more logins at this moment. */
export class LoginThrottled extends NetworkError {}

/**
 * Connects and logs in, once. The host's key is always verified.
 *
 * @param name its name in errors
 * @param via a stream through a jump host, instead of a connection of our own
 * @param limits `timeout` in seconds, from the first packet to the login
 * @throws NetworkError where the network is at fault, Unreachable for all else
 */
export async function logIn(
  name: string,
  config: SshConfig,
  connection: Pick<Hop, 'hostKeys' | 'knownHostsFile' | 'identityFile' | 'behind'>,
  via: Duplex | undefined,
  { signal, timeout }: { readonly signal: AbortSignal | undefined; readonly timeout: number },
): Promise<SshConnection> {
  const check = checkHostKey(name, config, connection);
  const credentials = await findCredentials(name, config, connection.identityFile);
  if (credentials.methods.length === 0) throw noKey(name, config, credentials);
  if (signal?.aborted) throw new Unreachable(name, 'interrupted while connecting');

  // Small requests must not wait for one another's acknowledgement: without noDelay an exec takes
  // 40 ms more.
  const socket = via ?? connectSocket(addressOf(config));
  const ssh = new NodeSSH();
  const banner = bannerOf(ssh);
  const authentication = eachMethodOnce(credentials, config.user, banner.onMethod);
  const abort = () => socket.destroy(new Error('interrupted'));
  signal?.addEventListener('abort', abort);
  const connecting = ssh.connect({
    sock: socket,
    username: config.user,
    readyTimeout: timeout * 1000,
    // A connection that is silent for four times this long is dead.
    keepaliveInterval: 15_000,
    keepaliveCountMax: 3,
    hostVerifier: (key: Buffer) => check.accept(key),
    algorithms: algorithmsOf(config, check.algorithms),
    authHandler: authentication.handler,
  });
  const ended = endOf(ssh);
  const greeting = greetingOf(socket);
  banner.listen();
  try {
    await connecting;
  } catch (error) {
    socket.destroy();
    const isAgentAsked = credentials.isAgentAsked();
    const seen = { ...authentication.seen(), ...banner.seen(), greeting: greeting(), isAgentAsked };
    throw check.refusal() ?? explain(name, config, credentials, seen, error as SshError, timeout);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
  return {
    ssh,
    ended,
    async close() {
      ssh.dispose();
      // After all that was sent, and without a round trip for the host's own end. A stream through
      // a jump host ends with the jump host.
      if (socket instanceof Socket) socket.destroySoon();
    },
  };
}

/**
 * Tries each method once, without the usual first question for what the host offers, which would
 * cost a round trip.
 *
 * @param onMethod called before each
 */
function eachMethodOnce({ methods }: Credentials, username: string, onMethod: () => void) {
  const left: unknown[] = [...methods];
  // The library does not say what the host offers after keys of the agent; the answer to `none`
  // does. If it is without keys by then, the host has accepted one.
  const triesAgent = methods.some((method) => typeof method === 'object' && method.type === 'agent');
  if (triesAgent) left.push({ type: 'none', username });
  const seen = { offered: [] as readonly string[], isPartial: false };
  return {
    handler: ((
      offers: readonly string[] | null,
      isPartial: boolean | null,
      next: (method: unknown) => void,
    ) => {
      seen.offered = offers ?? seen.offered;
      seen.isPartial ||= isPartial === true || (triesAgent && offers?.includes('publickey') === false);
      onMethod();
      next(left.shift() ?? false);
    }) as unknown as AuthHandlerMiddleware,
    seen: (): Pick<Seen, 'offered' | 'isPartial'> => seen,
  };
}

/** What the server says before a login, in lines. */
function bannerOf(ssh: NodeSSH) {
  const messages: (readonly string[])[] = [];
  let beforeMethod = 0;
  return {
    listen() {
      ssh.connection?.on('banner', (text) => {
        const lines = readable(text).split('\n');
        messages.push(lines.map((line) => line.trimEnd()).filter(Boolean));
      });
    },
    onMethod() {
      beforeMethod = messages.length;
    },
    // The first message may be the banner that everybody gets, at the first method: the library does
    // not say whether the method was answered before it.
    seen: (): Pick<Seen, 'words' | 'isReason'> => ({
      words: messages.flat(),
      isReason: messages.length > Math.max(beforeMethod, 1),
    }),
  };
}

/** Bytes of a greeting that are kept. */
const longestGreeting = 8192;

/**
 * What comes before the version of the server, in lines. The library shows it only where a version
 * follows.
 *
 * @param socket that the library keeps paused until it reads
 */
function greetingOf(socket: Duplex): () => readonly string[] {
  let text = '';
  const before = () => text.split(/^SSH-/m)[0] ?? '';
  const listen = (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (before() !== text || text.length > longestGreeting) socket.off('data', listen);
  };
  socket.on('data', listen);
  return () =>
    readable(before())
      .split('\n')
      .map((line) => line.trimEnd())
      .filter(Boolean);
}

/** Why a connection ended, once it has. */
function endOf({ connection }: NodeSSH): () => string | undefined {
  let ended: string | undefined;
  // Never removed: an error without a listener ends the process.
  connection?.on('error', (error) => {
    ended ??= error.message;
  });
  connection?.on('close', () => {
    ended ??= 'the host closed it';
  });
  return () => ended;
}

function addressOf({ host, port, family, bindAddress }: SshConfig): TcpNetConnectOpts {
  return {
    host,
    port,
    noDelay: true,
    ...(family !== undefined && { family }),
    ...(bindAddress !== undefined && { localAddress: bindAddress }),
  };
}

function algorithmsOf(
  { algorithms: { kex, ciphers, macs } }: SshConfig,
  hostKeys: readonly string[],
): Algorithms {
  return {
    serverHostKey: hostKeys as ServerHostKeyAlgorithm[],
    ...(kex && { kex: kex as KexAlgorithm[] }),
    ...(ciphers && { cipher: ciphers as CipherAlgorithm[] }),
    ...(macs && { hmac: macs as MacAlgorithm[] }),
  };
}

/** Errors of the SSH library have the level at which they occurred. */
export interface SshError extends Error {
  readonly level?: string;
  readonly code?: string | number;
}

/** What the server showed of itself before a login failed. */
export interface Seen {
  /** The methods of login that it offers, in its words. */
  readonly offered: readonly string[];
  /** Whether it accepted a key, and wants more. */
  readonly isPartial?: boolean;
  /** What it said before its version, in lines: most servers of SSH say nothing there. */
  readonly greeting?: readonly string[];
  /** What it said, in lines. */
  readonly words?: readonly string[];
  /** What the program ssh of this machine said beside it, in lines. */
  readonly ofSsh?: readonly string[];
  /** Whether it said some of them after the last method of login. */
  readonly isReason?: boolean;
  /** Whether the agent was asked to sign, and has not answered. */
  readonly isAgentAsked?: boolean;
}

/** The keys of a login that failed. */
export interface Tried extends Pick<Credentials, 'tried' | 'unusable'> {
  /** Why a key that was tried may have been refused. */
  readonly faults?: readonly string[];
}

/**
 * Why there is no login.
 *
 * @param error of the SSH library, or in its form
 * @param seconds the time limit
 */
export function explain(
  name: string,
  config: SshConfig,
  credentials: Tried,
  seen: Seen,
  error: SshError,
  seconds: number,
): Unreachable {
  const where = `${config.host} port ${config.port}`;
  const { greeting = [] } = seen;
  const retry = (what: string, hint?: string) => new NetworkError(name, what, hint, error);
  if (error.level === 'agent') {
    const what = `the agent at ${config.agent} did not sign for ${config.user}: ${error.message}`;
    return new BeyondLibrary(name, what, tryByHand(config), error);
  }
  if (error.level === 'client-authentication' || /authentication/i.test(error.message)) {
    return loginRefused(name, config, credentials, seen, error);
  }
  if (error.code === 'EADDRNOTAVAIL' && config.bindAddress !== undefined) {
    const what = `this machine has no address ${config.bindAddress} to connect from`;
    return new Unreachable(name, what, 'nothing was connected to. Correct BindAddress of ssh_config', error);
  }
  const fault = faultOfNetwork(name, config, error);
  if (fault) return fault;
  // The library's messages for a connection that the host closed, before its first packet or
  // after. sshd resets a connection that it has not read.
  if (
    error.code === 'ECONNRESET' ||
    error.message === 'No response from server' ||
    /^Connection lost before handshake/.test(error.message)
  ) {
    return endedEarly(name, config, seen, error);
  }
  if (error.level === 'client-timeout' || error.code === 'ETIMEDOUT') {
    return late(name, config, seen, error, seconds);
  }
  if (error.level === 'client-socket') return retry(`the connection to ${where} broke off: ${error.message}`);
  const what = `no SSH connection to ${where}: ${error.message}${said({ words: [...greeting, ...(seen.words ?? [])] })}`;
  const Refusal = /no matching /.test(error.message) ? BeyondLibrary : Unreachable;
  return new Refusal(name, what, tryByHand(config), error);
}

/** A fault of the network before anybody answered; undefined for another error. */
function faultOfNetwork(name: string, config: SshConfig, error: SshError): Unreachable | undefined {
  const where = `${config.host} port ${config.port}`;
  const retry = (what: string, hint?: string) => new NetworkError(name, what, hint, error);
  switch (error.code) {
    case 'ECONNREFUSED':
      return retry(`${where} refused the connection`, 'is sshd running there, and on this port?');
    case 'ENOTFOUND':
      return new Unreachable(
        name,
        `the name ${config.host} is not known`,
        'check the address in the inventory',
        error,
      );
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return retry(`there is no route to ${where}`, 'check the address in the inventory');
    case 'EAI_AGAIN': {
      const hint = 'check the network, or give an IP address in the inventory';
      return retry(`the name server did not answer for ${config.host}`, hint);
    }
    default:
      return undefined;
  }
}

/** The server has closed the connection, before the login or in the middle of it. */
function endedEarly(name: string, config: SshConfig, seen: Seen, error: SshError): Unreachable {
  const where = `${config.host} port ${config.port}`;
  const { greeting = [], words = [], isReason } = seen;
  // It has words in the middle of a login alone.
  if (words.length > 0) {
    const what = `${where} ended the connection during the login${said(seen)}`;
    return new (isReason ? Unreachable : NetworkError)(name, what, tryByHand(config), error);
  }
  const guess = 'its sshd may limit connections (MaxStartups, PerSourcePenalties); its log has the reason';
  const hint = greeting.length > 0 ? undefined : guess;
  const what = `${where} ended the connection before the login${said({ words: greeting })}`;
  return new LoginThrottled(name, what, hint, error);
}

/** There is no login within the time limit. */
function late(name: string, config: SshConfig, seen: Seen, error: SshError, seconds: number): Unreachable {
  const where = `${config.host} port ${config.port}`;
  const { greeting = [], ofSsh = [], isAgentAsked } = seen;
  // Another attempt would ask again, beside the question that is there.
  if (isAgentAsked) {
    const what = `the agent at ${config.agent} was asked to sign for ${config.user}, and did not answer within ${seconds} s`;
    const hint = 'it may wait for you, for a confirmation, a PIN or a touch; or allow more: --timeout';
    return new Unreachable(name, what, hint, error);
  }
  if (greeting.length + ofSsh.length > 0) {
    const words = said({ words: greeting }) + quoted('ssh of this machine says', ofSsh);
    return new NetworkError(name, `no login at ${where} within ${seconds} s${words}`, undefined, error);
  }
  const hint = 'is the host up, and does a firewall let us through?';
  return new NetworkError(name, `no answer from ${where} within ${seconds} s`, hint, error);
}

/** A login that was refused. Beside the words of the server, or those of ssh, there is no guess. */
function loginRefused(
  name: string,
  config: SshConfig,
  { tried, unusable, faults = [] }: Tried,
  seen: Seen,
  error: SshError,
): Unreachable {
  const { offered, isPartial, words = [], ofSsh = [] } = seen;
  const who = `${config.user} could not log in at ${config.host}`;
  const offers = offered.length > 0 ? `; the server offers: ${offered.join(', ')}` : '';
  if (isPartial) {
    const what = `${who}: a key was accepted, and the server wants more${offers}${said(seen)}${quoted('ssh of this machine says', ofSsh)}`;
    return new BeyondLibrary(name, what, [tryByHand(config), ...unusable].join('; '), error);
  }
  // The server numbers its reasons to disconnect.
  const reasons = typeof error.code === 'number' ? [...words, error.message] : words;
  const guess = reasons.length + ofSsh.length > 0 ? [] : [adviceFor(config, offered)];
  const off = optionWithoutKeys(config);
  const advice =
    off === undefined ? guess : [`${off} of ssh_config keeps ssh from trying a key: change it for this host`];
  return new NoKeyAccepted(
    name,
    `${who}: no key was accepted (tried: ${tried.join(', ') || 'none'})${offers}${said({ words: reasons })}${quoted('ssh of this machine says', ofSsh)}`,
    [...faults, ...advice, tryByHand(config), ...unusable].join('; '),
    error,
  );
}

/** The option of ssh_config, with its value, by which ssh tries no key. */
function optionWithoutKeys({ settings }: SshConfig): string | undefined {
  for (const name of ['PubkeyAuthentication', 'PreferredAuthentications']) {
    // `ssh -G` prints no as false.
    const value = settings.get(name.toLowerCase())?.[0]?.replace(/^false$/, 'no');
    if (value !== undefined && sshOption(name.toLowerCase())?.isFine(value) === false)
      return `${name} ${value}`;
  }
  return undefined;
}

function adviceFor(config: SshConfig, offered: readonly string[]): string {
  if (offered.length > 0 && !offered.includes('publickey'))
    return 'allow keys in its sshd_config: PubkeyAuthentication yes';
  const add =
    offered.includes('password') || offered.includes('keyboard-interactive')
      ? `copy a public key there: ssh-copy-id ${destination(config)}`
      : `add a public key to ~/.ssh/authorized_keys of ${config.user} there`;
  const rules = ['AllowUsers', ...(config.user === 'root' ? ['PermitRootLogin'] : []), 'from='];
  return `${add}; or its sshd does not let ${config.user} in (${rules.join(', ')})`;
}

/** The last words of a server. */
function said({ words = [] }: Pick<Seen, 'words'>): string {
  return quoted('the server says', words);
}

function quoted(whose: string, words: readonly string[]): string {
  return words.length > 0 ? `\n  ${whose}: ${words.slice(-mostWords).join('\n  ')}` : '';
}

/** Lines. */
const mostWords = 12;

function noKey(name: string, config: SshConfig, { unusable }: Credentials): Unreachable {
  // Of the user who runs this: with sudo, that is another one than the owner of the keys.
  const folders = [...new Set(config.identityFiles.map((file) => dirname(file)))];
  const advice = [
    ...(folders.length > 0 && unusable.length === 0 ? [`none was found in ${folders.join(', ')}`] : []),
    'give identity_file in the inventory, or add a key to the SSH agent',
    `without a key: ssh-keygen && ssh-copy-id ${destination(config)}`,
    ...unusable,
  ];
  return new NoKeyAccepted(name, `there is no key to log in with as ${config.user}`, advice.join('; '));
}

function tryByHand(config: SshConfig): string {
  return `try: ssh -v ${destination(config)}`;
}

/** As arguments of ssh and ssh-copy-id. */
function destination({ user, host, port }: SshConfig): string {
  return `${port === 22 ? '' : `-p ${port} `}${shellWord(`${user}@${host}`)}`;
}
