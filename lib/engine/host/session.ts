import type { ReadyChange } from './changes/changes-script.ts';
import { type ChangesOptions, type ChangesRequest, makeChanges } from './changes/make-changes.ts';
import type { Connection } from './connection.ts';
import type { Facts } from './facts/facts.ts';
import type { Progress, Reader, Writer } from './host.ts';
import { createReader } from './reader.ts';
import { batchOf } from './reads/batch.ts';
import { type RecordedRead, recorded } from './reads/recorded-read.ts';
import { createWriter } from './writer.ts';

/** An open connection to a host, with its facts. */
export interface Session {
  readonly reader: Reader;
  readonly facts: Facts;
  /** A Reader that keeps each read as a command that repeats it. */
  recording(reads: Set<RecordedRead>): Reader;
  /** Makes one or more changes in one request. */
  makeChanges(changes: readonly ReadyChange[], options?: ChangesOptions): ChangesRequest;
  /**
   * @param first taken before each command: a script that the host runs before it, in the same
   * request
   */
  writerFor(onProgress: (progress: Progress) => void, first?: () => string): Writer;
  /** Exec requests sent so far. */
  roundTrips(): number;
  close(): Promise<void>;
}

/**
 * A session over an open connection.
 *
 * @param interrupt ends a wait for long work on the host
 */
export function sessionOver(connection: Connection, facts: Facts, interrupt: AbortSignal): Session {
  const { name } = connection;
  return {
    reader: createReader(connection, name),
    facts,
    recording: (reads) => createReader(connection, name, recorded(batchOf(connection), reads)),
    makeChanges: (changes, options) => makeChanges(connection, name, changes, options),
    writerFor: (onProgress, first) =>
      createWriter(connection, name, { onProgress, signal: interrupt, first }),
    roundTrips: () => connection.execs,
    close: () => connection.close(),
  };
}
