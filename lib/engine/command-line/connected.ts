import { askPassword, terminal } from '../output/terminal.ts';
import type { Ask } from '../secret/ask.ts';
import { Secret } from '../secret/secret.ts';
import { interruption } from './interrupt.ts';

/** What a command that connects to hosts works with. */
export interface Connected {
  /** From the operator. It overrides the inventory's. */
  readonly becomePassword: Secret | undefined;
  /** Asks for a password of a login, where there is a terminal. */
  readonly ask: Ask | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Acts as a Ctrl-C. */
  interrupt(): void;
  /** Closes a connection when the command ends, however it ends. */
  closesAtEnd<C extends { close(): Promise<void> }>(connection: C): C;
}

/**
 * Asks for the sudo password, lets a command work until Ctrl-C, and closes its connections.
 *
 * @param asksPassword whether `--ask-become-pass` is given
 * @returns what the work returns
 * @throws Problem where a password is wanted and there is no terminal to ask on
 */
export async function connected<T>(
  asksPassword: boolean,
  work: (connected: Connected) => Promise<T>,
): Promise<T> {
  const becomePassword = asksPassword ? new Secret(await askPassword('sudo password: ')) : undefined;
  const { signal, interrupt, release } = interruption();
  const connections: { close(): Promise<void> }[] = [];
  const closesAtEnd: Connected['closesAtEnd'] = (connection) => {
    connections.push(connection);
    return connection;
  };
  try {
    return await work({
      becomePassword,
      ask: askUnlessInterrupted(interrupt),
      signal,
      interrupt,
      closesAtEnd,
    });
  } finally {
    await Promise.all(connections.map((connection) => connection.close()));
    release();
  }
}

/** Takes a Ctrl-C at the prompt as an interruption: it raises no signal while the terminal is read. */
function askUnlessInterrupted(interrupt: () => void): Ask | undefined {
  const asks = terminal();
  return (
    asks &&
    ((question) =>
      asks.hidden(question).catch((error: unknown) => {
        interrupt();
        throw error;
      }))
  );
}
