import { connect as connectSocket, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { NodeSSH } from 'node-ssh';
import type { AuthHandlerMiddleware, ServerHostKeyAlgorithm } from 'ssh2';
import type { ConnectionSettings } from '../../inventory/inventory.ts';
import { shellWord } from '../../text/shell-word.ts';
import { Unreachable } from '../connection-errors.ts';
import { checkHostKey } from './host-key.ts';
import type { SshConfig } from './ssh-config.ts';
import { findCredentials, type Login } from './ssh-keys.ts';

/** How long one try may take, from the first packet to the login. */
export const trySeconds = 15;

/** A connection that says nothing for four times this long is dead. */
const keepalive = { keepaliveInterval: 15_000, keepaliveCountMax: 3 };

/** One logged-in connection. `ended` tells why it ended, once it has. */
export interface SshConnection {
  readonly ssh: NodeSSH;
  readonly ended: () => string | undefined;
  close(): Promise<void>;
}

/** The network failed, and may do better at the next try. */
export class NetworkError extends Unreachable {}

/** The host is there, and took no more logins at that moment. */
export class LoginThrottled extends NetworkError {}

/** How long to wait for a host. */
export interface Waiting {
  readonly signal: AbortSignal | undefined;
  /** Seconds. */
  readonly timeout: number;
}

/**
 * Connects and logs in, once. The host's key is always verified.
 *
 * @param name what errors call it
 * @param via a stream through a jump host, instead of a connection of our own
 * @throws NetworkError where the network is at fault, Unreachable for all else
 */
export async function logIn(
  name: string,
  config: SshConfig,
  connection: Pick<ConnectionSettings, 'hostKeys' | 'knownHostsFile' | 'identityFile'>,
  via: Duplex | undefined,
  waiting: Waiting,
): Promise<SshConnection> {
  const { signal } = waiting;
  const [check, login] = await Promise.all([
    checkHostKey(name, config, connection),
    findCredentials(name, config, connection.identityFile),
  ]);
  if (login.methods.length === 0) throw noKey(name, config, login);
  if (signal?.aborted) throw new Unreachable(name, 'interrupted while connecting');

  // Small requests must not wait for one another's acknowledgement: without this an exec takes 40 ms more.
  const socket = via ?? connectSocket({ host: config.host, port: config.port, noDelay: true });
  const ssh = new NodeSSH();
  let ended: string | undefined;
  const abort = () => socket.destroy(new Error('interrupted'));
  signal?.addEventListener('abort', abort);
  try {
    const connecting = ssh.connect({
      sock: socket,
      username: config.user,
      readyTimeout: waiting.timeout * 1000,
      ...keepalive,
      hostVerifier: (key: Buffer) => check.accept(key),
      algorithms: { serverHostKey: check.algorithms as ServerHostKeyAlgorithm[] },
      authHandler: inTurn(login),
    });
    const client = ssh.connection;
    // Stays for good: an error with nobody to hear it ends the process.
    client?.on('error', (error) => {
      ended ??= error.message;
    });
    client?.on('close', () => {
      ended ??= 'the host closed it';
    });
    await connecting;
  } catch (error) {
    socket.destroy();
    throw check.refusal() ?? explain(name, config, login, error as SshError, waiting.timeout);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
  return { ssh, ended: () => ended, close: () => closeAll(ssh, socket) };
}

/** Each method once, without the usual first question what the host allows, which would cost a round trip. */
function inTurn({ methods }: Login): AuthHandlerMiddleware {
  const left = [...methods];
  return ((_allowed: unknown, _partial: unknown, next: (method: unknown) => void) => {
    next(left.shift() ?? false);
  }) as AuthHandlerMiddleware;
}

async function closeAll(ssh: NodeSSH, socket: Socket | Duplex): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    if (socket.destroyed) return resolve();
    // A host that does not answer any more is not waited for.
    const timer = setTimeout(() => {
      socket.destroy();
      resolve();
    }, 500);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  ssh.dispose();
  await closed;
}

/** Errors of the library say at which level they came about. */
interface SshError extends Error {
  readonly level?: string;
  readonly code?: string | number;
}

function explain(name: string, config: SshConfig, login: Login, error: SshError, seconds: number): Unreachable {
  const where = `${config.host} port ${config.port}`;
  if (error.level === 'client-authentication' || /authentication/i.test(error.message)) {
    return notLetIn(name, config, login, error);
  }
  switch (error.code) {
    case 'ECONNREFUSED':
      return new NetworkError(
        name,
        `${where} refused the connection`,
        'is sshd running there, and on this port?',
        error,
      );
    case 'ENOTFOUND':
      return new Unreachable(name, `the name ${config.host} is not known`, 'check the address in the inventory', error);
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return new NetworkError(name, `there is no route to ${where}`, 'check the address in the inventory', error);
    case 'EAI_AGAIN':
      return new NetworkError(
        name,
        `the name server did not answer for ${config.host}`,
        'check the network, or give an IP address in the inventory',
        error,
      );
  }
  // The library's words for a connection that the host ended, before its first packet or after.
  if (error.message === 'No response from server' || /^Connection lost before handshake/.test(error.message)) {
    const hint = 'its sshd may be turning connections away (MaxStartups, PerSourcePenalties); its log says why';
    return new LoginThrottled(name, `${where} ended the connection before the login`, hint, error);
  }
  if (error.level === 'client-timeout' || error.code === 'ETIMEDOUT') {
    const hint = 'is the host up, and does a firewall let us through?';
    return new NetworkError(name, `no answer from ${where} within ${seconds} s`, hint, error);
  }
  if (error.level === 'client-socket') {
    return new NetworkError(name, `the connection to ${where} broke off: ${error.message}`, undefined, error);
  }
  return new Unreachable(name, `no SSH connection to ${where}: ${error.message}`, byHand(config), error);
}

function notLetIn(name: string, config: SshConfig, login: Login, error: SshError): Unreachable {
  const tried = login.methods.length;
  const why =
    tried === 1 ? 'the only way to log in was not accepted' : `none of the ${tried} ways to log in was accepted`;
  return new Unreachable(
    name,
    `${config.user} was not let in at ${config.host}: ${why}`,
    [byHand(config), ...login.notes].join('; '),
    error,
  );
}

function byHand({ user, host, port }: SshConfig): string {
  return `try: ssh -v ${shellWord(`${user}@${host}`)}${port === 22 ? '' : ` -p ${port}`}`;
}

function noKey(name: string, config: SshConfig, login: Login): Unreachable {
  return new Unreachable(
    name,
    `there is no key to log in with as ${config.user}`,
    ['give identity_file in the inventory, or add a key to the SSH agent', ...login.notes].join('; '),
  );
}
