/** What carries a command line to a login shell and its output back. */
export interface Transport {
  /**
   * @param mark what the command prints as soon as it has begun, so that one which does not begin is given up. Without it the
   *   command itself has to end as soon
   */
  run(
    command: string,
    input: Buffer | undefined,
    onStdout: (chunk: Buffer) => void,
    mark?: string,
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
