import type { ReadyChange } from '../host/changes/changes-script.ts';
import { type ChangesRequest, makeChanges } from '../host/changes/make-changes.ts';
import { connect } from '../host/connection.ts';
import type { Facts } from '../host/facts/facts.ts';
import { gatherFacts } from '../host/facts/gather-facts.ts';
import type { Progress, Reader, Writer } from '../host/host.ts';
import { createReader } from '../host/reader.ts';
import { batchOf } from '../host/reads/batch.ts';
import { type RecordedRead, recorded } from '../host/reads/recorded-read.ts';
import { createWriter } from '../host/writer.ts';
import type { InventoryHost } from '../inventory/inventory.ts';
import type { Secret } from '../secret/secret.ts';

/** An open connection to a host, with its facts. */
export interface Session {
  readonly reader: Reader;
  readonly facts: Facts;
  /** A Reader that keeps each read as a command that repeats it. Only a session with `makeChanges` has it. */
  recording?(reads: Set<RecordedRead>): Reader;
  /** Makes several changes in one request. Without it, each change is made by itself. */
  makeChanges?(
    changes: readonly ReadyChange[],
    started: (change: number) => void,
    stop: AbortSignal,
    first: string,
  ): ChangesRequest;
  /**
   * @param first taken before each change: a script that the host runs before it, in the same request
   */
  writerFor(onProgress: (progress: Progress) => void, first?: () => string): Writer;
  /** Exec requests sent so far. */
  roundTrips(): number;
  close(): Promise<void>;
}

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
