/**
 * Bytes that one command may print. No command needs a tenth of it; more would use up our memory.
 */
const maxOutputBytes = 32 * 1024 * 1024;

/**
 * Seconds on top of a command's own time limit, which the host itself enforces: for the round
 * trip.
 */
const answerMargin = 60;

/** Watches one command on a host. */
export interface Watchdog {
  /** Counts what the command prints. */
  count(chunk: Buffer): void;
  /** Resolves as the command does, or rejects as soon as the host is given up. */
  guard<T>(running: Promise<T>): Promise<T>;
}

/**
 * Gives up a host that prints without end during one command, or that stops answering on an open
 * connection.
 *
 * @param seconds that the command may take by the host's own count; undefined for no limit
 * @param giveUp called once, with the reason; returns the error
 */
export function createWatchdog(seconds: number | undefined, giveUp: (why: string) => Error): Watchdog {
  let printed = 0;
  const stop = new AbortController();
  const givenUp = new Promise<never>((_, reject) => {
    stop.signal.addEventListener('abort', () => reject(giveUp(String(stop.signal.reason))), { once: true });
  });
  // The command may have ended first.
  givenUp.catch(() => {});
  return {
    count(chunk) {
      printed += chunk.length;
      if (printed > maxOutputBytes)
        stop.abort(`one command printed more than ${maxOutputBytes / 2 ** 20} MiB there`);
    },
    guard(running) {
      const limit = (seconds ?? 0) + answerMargin;
      const expire = () => stop.abort(`no answer within ${limit} s`);
      const timer = seconds === undefined ? undefined : setTimeout(expire, limit * 1000);
      return Promise.race([running, givenUp]).finally(() => clearTimeout(timer));
    },
  };
}
