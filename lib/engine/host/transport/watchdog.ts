/** Bytes that one command may print. Nothing that is asked for has a tenth of it; more is a host that would use up our memory. */
export const maxOutputBytes = 32 * 1024 * 1024;

/** On top of a command's own time limit, which the host itself keeps: for the way there and back. Seconds. */
export const slack = 60;

/** Watches over one command, for a host that goes on sending, or that answers no more though its connection lives. */
export interface Watch {
  /** Told of all that the command prints. */
  count(chunk: Buffer): void;
  /** Gives what the command gives, or fails as soon as the host is given up. */
  over<T>(running: Promise<T>): Promise<T>;
}

/**
 * @param seconds that the command may take by the host's own count; undefined for no limit
 * @param giveUp called once, with why; gives the error
 */
export function watch(seconds: number | undefined, giveUp: (why: string) => Error): Watch {
  let printed = 0;
  let fail: (why: string) => void = () => {};
  const givenUp = new Promise<never>((_, reject) => {
    fail = (why) => {
      fail = () => {};
      reject(giveUp(why));
    };
  });
  // Where the command ended first, nobody hears of it.
  givenUp.catch(() => {});
  return {
    count(chunk) {
      printed += chunk.length;
      if (printed > maxOutputBytes) fail(`one command printed more than ${maxOutputBytes / 2 ** 20} MiB there`);
    },
    async over(running) {
      const timer =
        seconds === undefined
          ? undefined
          : setTimeout(() => fail(`no answer within ${seconds + slack} s`), (seconds + slack) * 1000);
      try {
        return await Promise.race([running, givenUp]);
      } finally {
        clearTimeout(timer);
        fail = () => {};
      }
    },
  };
}
