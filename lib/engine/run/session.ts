import type { Facts } from '../host/facts/facts.ts';
import type { Progress, Reader, Writer } from '../host/host.ts';

/** An open connection to a host, with its facts. */
export interface Session {
  readonly reader: Reader;
  readonly facts: Facts;
  writerFor(onProgress: (progress: Progress) => void): Writer;
  /** Exec requests sent so far. */
  roundTrips(): number;
  close(): Promise<void>;
}
