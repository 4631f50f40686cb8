import { makeChanges } from '../host/changes/make-changes.ts';
import { connect } from '../host/connection.ts';
import { gatherFacts } from '../host/facts/gather-facts.ts';
import { createReader } from '../host/reader.ts';
import { batchOf, recorded } from '../host/reads/batch.ts';
import { createWriter } from '../host/writer.ts';
import type { InventoryHost } from '../inventory/inventory.ts';
import type { Secret } from '../secret/secret.ts';
import type { Session } from './session.ts';

export interface OpenSessionOptions {
  /** From the operator. It overrides the inventory's. */
  readonly becomePassword: Secret | undefined;
  /** Ends a wait for the host or for long work on it. */
  readonly interrupt: AbortSignal;
  /** Time limit for an answer of the host. Seconds. */
  readonly timeout?: number | undefined;
}

/**
 * Connects to a host and gathers its facts.
 *
 * @throws Unreachable
 */
export async function openSession<V>(
  host: InventoryHost<V>,
  { becomePassword, interrupt, timeout }: OpenSessionOptions,
): Promise<Session> {
  const settings = becomePassword ? { ...host.connection, becomePassword } : host.connection;
  const connection = await connect(host.name, settings, { signal: interrupt, timeout });
  try {
    const reader = createReader(connection, host.name);
    const facts = await gatherFacts(reader);
    return {
      reader,
      facts,
      recording: (reads) => createReader(connection, host.name, recorded(batchOf(connection), reads)),
      makeChanges: (changes, started, stop, first) => makeChanges(connection, host.name, changes, started, stop, first),
      writerFor: (onProgress, first) => createWriter(connection, host.name, { onProgress, signal: interrupt, first }),
      roundTrips: () => connection.execs,
      close: () => connection.close(),
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}
