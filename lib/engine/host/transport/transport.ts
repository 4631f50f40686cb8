/** When a command is given up. */
export interface RunLimits {
  /** What the command prints as soon as it starts: a command that does not start is given up. Without it the command has to end as soon. */
  readonly startMarker?: string | undefined;
  /** How long it may take by the host's own count. Without it there is no limit. */
  readonly seconds?: number | undefined;
}

/** Carries a command line to a login shell and its output back. */
export interface Transport {
  /** @throws ConnectionLost also where the host is given up: see watchdog.ts */
  run(
    command: string,
    input: Buffer | undefined,
    limits?: RunLimits,
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
