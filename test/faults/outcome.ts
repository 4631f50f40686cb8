import { expect } from 'vitest';
import { describeError } from '../../lib/engine/output/describe-error.ts';
import { Problem, Problems } from '../../lib/engine/problem/problem.ts';

/**
 * Time after which hostile input counts as a hang, in milliseconds: seconds are enough, but other
 * tests may use the processor.
 */
const patience = 60_000;

/** Control characters except line breaks and tabs: they could control a terminal. */
const steering = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/**
 * The outcome of hostile input: it is accepted, or refused with a readable message. Anything else
 * (another error, a long wait, control characters in the message) is a bug of ours.
 *
 * @returns the parsed value, or undefined if it was refused
 */
export async function takenOrRefused<T>(read: () => T | Promise<T>, what: unknown): Promise<T | undefined> {
  const started = performance.now();
  const inTime = () => {
    const took = performance.now() - started;
    if (took > patience) throw new Error(`it took ${Math.round(took)} ms: ${shown()}`);
  };
  const shown = () => (typeof what === 'string' ? what : JSON.stringify(what)).slice(0, 2000);
  try {
    const taken = await read();
    inTime();
    return taken;
  } catch (error) {
    if (!(error instanceof Problem || error instanceof Problems)) {
      throw new Error(
        `an error that nobody foresaw: ${error instanceof Error ? error.stack : error}\nof: ${shown()}`,
      );
    }
    const words = describeError(error);
    expect(words, shown()).not.toMatch(steering);
    expect(words.trim(), shown()).not.toBe('');
    inTime();
    return undefined;
  }
}
