import type { Pace } from '../units.ts';

/** How far back the pace is measured: long enough to be steady, short enough to show that work got slower. Seconds. */
const span = 30;

interface Sample {
  readonly at: number;
  readonly done: number;
}

/** Measures how fast work goes, out of how far it was at some times. Time in seconds, from any fixed origin. */
export class Pacer {
  #samples: readonly Sample[] = [];

  add(at: number, done: number): void {
    // What is less than before was begun anew.
    const before = (this.#samples.at(-1)?.done ?? 0) > done ? [] : this.#samples;
    // The last one from before the span is its beginning.
    const first = before.findLastIndex((sample) => at - sample.at >= span);
    this.#samples = [...before.slice(Math.max(0, first)), { at, done }];
  }

  /** @param total how much it is in the end */
  pace(now: number, total: number | undefined): Pace {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    const passed = first && last ? last.at - first.at : 0;
    if (!first || !last || passed < 1) return { perSecond: undefined, secondsLeft: undefined };
    const perSecond = (last.done - first.done) / passed;
    if (total === undefined || perSecond <= 0) return { perSecond, secondsLeft: undefined };
    return { perSecond, secondsLeft: Math.max(0, (total - last.done) / perSecond - (now - last.at)) };
  }
}
