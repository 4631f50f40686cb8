import type { Ask } from '../../secret/ask.ts';

/** Limits after which a command is given up. */
export interface RunLimits {
  /**
   * The output that marks the start: a command that does not start in time is given up. Without it
   * the limit is for its end.
   */
  readonly startMarker?: string | undefined;
  /** Time limit that the host itself enforces. Without it there is no limit. */
  readonly seconds?: number | undefined;
  /** Called with standard output as it comes. */
  readonly onOutput?: ((chunk: Buffer) => void) | undefined;
}

/** Carries a command line to a login shell and its output back. */
export interface Transport {
  /**
   * @throws ConnectionLost also where the host is given up: see watchdog.ts; Unreachable where the
   * connection ends before the host begins its first command
   */
  run(
    command: string,
    input: Buffer | undefined,
    limits?: RunLimits,
  ): Promise<{ readonly code: number; readonly stdout: Buffer; readonly stderr: Buffer }>;
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** Further attempts after a network failure. Default 2. */
  readonly retries?: number;
  /** Ends the wait for a host. */
  readonly signal?: AbortSignal;
  /** Time limit of one attempt. Seconds, default 15. */
  readonly timeout?: number | undefined;
  /**
   * Asks the operator for a password of a login, without showing what is typed. Without it nobody
   * is asked.
   */
  readonly ask?: Ask | undefined;
}
