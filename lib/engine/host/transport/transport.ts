/** By what a command is known that does not come to its end. */
export interface Limits {
  /** What it prints as soon as it has started: one that does not begin is given up. Without it the command itself has to end as soon. */
  readonly mark?: string;
  /** How long it may take by the host's own count. Without it there is no limit. */
  readonly seconds?: number | undefined;
}

/** What carries a command line to a login shell and its output back. */
export interface Transport {
  /**
   * @throws ConnectionLost also where the host is given up: see watch.ts
   */
  run(
    command: string,
    input: Buffer | undefined,
    onStdout: (chunk: Buffer) => void,
    limits?: Limits,
  ): Promise<{ readonly code: number; readonly stdout: Buffer; readonly stderr: Buffer }>;
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** Tries after the first where the network is at fault. Default 2. */
  readonly retries?: number;
  /** Ends the wait for a host. */
  readonly signal?: AbortSignal;
  /** How long one try may take. Seconds, default 15. */
  readonly timeout?: number | undefined;
}
