import { setTimeout as sleep } from 'node:timers/promises';
import type { LockRefused } from './refused.ts';

/** The pause between two requests for a lock that another run has. Milliseconds. */
const askEvery = 2000;

/** A wait for the locks of other runs. */
export interface LockWait {
  /** How long, in all. Seconds. */
  readonly most: number;
  /** Ends the wait. */
  readonly interrupt: AbortSignal;
  /** Called when the wait begins, and when it goes on for another holder. */
  waits(refused: LockRefused): void;
}

/**
 * Tries again until the locks are had.
 *
 * @returns undefined where the wait was interrupted
 * @throws LockRefused of the last try, when the time is over
 */
export async function waitingFor<T>(
  attempt: () => Promise<T>,
  isRefusal: (error: unknown) => error is LockRefused,
  { most, interrupt, waits }: LockWait,
): Promise<{ readonly had: T; readonly seconds: number } | undefined> {
  const from = performance.now();
  const seconds = () => (performance.now() - from) / 1000;
  for (let shown: string | undefined; ; ) {
    if (interrupt.aborted) return undefined;
    try {
      const had = await attempt();
      return { had, seconds: shown === undefined ? 0 : seconds() };
    } catch (error) {
      if (!isRefusal(error) || seconds() >= most) throw error;
      if (error.message !== shown) waits(error);
      shown = error.message;
    }
    const left = Math.min(askEvery, (most - seconds()) * 1000);
    await sleep(Math.max(0, left), undefined, { signal: interrupt }).catch(() => {});
  }
}
