import type { InventoryHost } from '../inventory/inventory.ts';
import type { Ask } from '../secret/ask.ts';
import type { Secret } from '../secret/secret.ts';
import { connect } from './connection.ts';
import { gatherFacts } from './facts/gather-facts.ts';
import { createReader } from './reader.ts';
import { type Session, sessionOver } from './session.ts';

export interface OpenSessionOptions {
  /** From the operator. It overrides the inventory's. */
  readonly becomePassword: Secret | undefined;
  /** Ends a wait for the host or for long work on it. */
  readonly interrupt: AbortSignal;
  /** Time limit for an answer of the host. Seconds. */
  readonly timeout?: number | undefined;
  /** Asks for a password of the login. Without it nobody is asked. */
  readonly ask?: Ask | undefined;
}

/**
 * Connects to a host and gathers its facts.
 *
 * @throws Unreachable
 */
export async function openSession<V>(
  host: InventoryHost<V>,
  { becomePassword, interrupt, timeout, ask }: OpenSessionOptions,
): Promise<Session> {
  const settings = becomePassword ? { ...host.connection, becomePassword } : host.connection;
  const connection = await connect(host.name, settings, { signal: interrupt, timeout, ask });
  try {
    return sessionOver(connection, await gatherFacts(createReader(connection, host.name)), interrupt);
  } catch (error) {
    await connection.close();
    throw error;
  }
}
