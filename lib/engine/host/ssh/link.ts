import type { Duplex } from 'node:stream';
import type { ConnectionSettings } from '../../inventory/inventory.ts';
import type { Ask } from '../../secret/ask.ts';
import type { GivenLogin, SshConfig } from './ssh-config.ts';

/** Gets what happens to a command. */
export interface Listener {
  /** The command is about to begin; `close` gives it up. */
  onOpen(channel: { close(): void }): void;
  onStdout(chunk: Buffer): void;
  onStderr(chunk: Buffer): void;
}

/** How a command ended. Without code and signal its end is unknown. */
export interface CommandEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/**
 * Runs a command on a channel.
 *
 * @throws ChannelRefused
 */
export type Open = (line: string, input: Buffer | undefined, listener: Listener) => Promise<CommandEnd>;

/**
 * The host refused one more channel, which happens while ended ones are not freed yet. Nothing was
 * run.
 */
export class ChannelRefused extends Error {}

/** A host that is connected to on the way, or at its end. */
export interface Hop extends Pick<ConnectionSettings, 'hostKeys' | 'knownHostsFile' | 'identityFile'> {
  /** Its name in errors. */
  readonly name: string;
  /** What ssh is asked for. */
  readonly asked: GivenLogin & { readonly host: string };
  readonly config: SshConfig;
  /** The jump hosts before it in order, as `user@host:port`. */
  readonly behind: readonly string[];
  /** Whether ssh_config decides nothing about the way to it. */
  readonly isDirect: boolean;
  /** Whether it is a jump host. */
  readonly isJump: boolean;
}

/** The way of OpenSSH through a jump host to the next hop. */
export interface ProxyCommand {
  readonly command: string;
  /**
   * Why the jump host did not reach it.
   *
   * @param said what ssh said that came this way
   */
  refusal(said: readonly string[]): string | undefined;
}

/** The way through a jump host to the next hop: a stream for the SSH library. */
export type AnyWay = Duplex | ProxyCommand;

/** A logged-in connection. */
export interface Login<Via extends AnyWay> {
  readonly open: Open;
  /** Why the connection ended, if it has. */
  ended(): string | undefined;
  forward(to: SshConfig): Promise<Via>;
  close(): Promise<void>;
}

/** `timeout` in seconds, from the first packet to the login. */
export interface LoginLimits {
  readonly signal: AbortSignal | undefined;
  readonly timeout: number;
  /** Asks the operator without showing what is typed, where there is a terminal. */
  readonly ask: Ask | undefined;
}

/** Logs in by the SSH library or by OpenSSH. */
export type LogIn<Via extends AnyWay> = (
  hop: Hop,
  via: Via | undefined,
  limits: LoginLimits,
) => Promise<Login<Via>>;
