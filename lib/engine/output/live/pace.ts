import type { Pace } from '../units.ts';

/**
 * The rate is measured over this many seconds: long enough to be steady, short enough to follow
 * changes.
 */
const window = 30;

/**
 * Measures the rate of work and the time left from samples of its progress. Time is in seconds
 * from any fixed origin.
 */
export class Pacer {
  #samples: readonly { readonly at: number; readonly done: number }[] = [];

  add(at: number, done: number): void {
    // Less than before: the work started again.
    const before = (this.#samples.at(-1)?.done ?? 0) > done ? [] : this.#samples;
    // One sample from before the window is kept: the rate is measured from there.
    const first = before.findLastIndex((sample) => at - sample.at >= window);
    this.#samples = [...before.slice(Math.max(0, first)), { at, done }];
  }

  /**
   * @param total the amount at the end
   */
  pace(now: number, total: number | undefined): Pace {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    const passed = first && last ? last.at - first.at : 0;
    if (!first || !last || passed < 1) return { perSecond: undefined, secondsLeft: undefined };
    const perSecond = (last.done - first.done) / passed;
    if (total === undefined || perSecond <= 0) return { perSecond, secondsLeft: undefined };
    return { perSecond, secondsLeft: Math.max(0, (total - last.done) / perSecond - (now - last.at)) };
  }
}
