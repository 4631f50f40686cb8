import type { ReadyChange } from '../host/changes/changes-script.ts';
import type { ChangesRequest } from '../host/changes/make-changes.ts';
import type { Facts } from '../host/facts/facts.ts';
import type { Progress, Reader, Writer } from '../host/host.ts';

/** An open connection to a host, with its facts. */
export interface Session {
  readonly reader: Reader;
  readonly facts: Facts;
  /** A Reader that keeps each read as a command that repeats it. Only a session with `makeChanges` has it. */
  recording?(reads: Set<() => string>): Reader;
  /** Makes several changes in one request. Without it, each change is made by itself. */
  makeChanges?(
    changes: readonly ReadyChange[],
    started: (change: number) => void,
    stop: AbortSignal,
    first: string,
  ): ChangesRequest;
  /** @param first taken before each change: a script that the host runs before it, in the same request */
  writerFor(onProgress: (progress: Progress) => void, first?: () => string): Writer;
  /** Exec requests sent so far. */
  roundTrips(): number;
  close(): Promise<void>;
}
