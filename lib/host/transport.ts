/** What carries a command line to a login shell and its output back. */
export interface Transport {
  run(
    command: string,
    input: Buffer | undefined,
    onStdout: (chunk: Buffer) => void,
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
