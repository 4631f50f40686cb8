import { expect } from 'vitest';
import { describeError } from '../../lib/engine/output/describe-error.ts';
import { Problem, Problems } from '../../lib/engine/problem/problem.ts';

/** How long anything hostile may keep us. A second or two are ample, but other tests may have the processor. Milliseconds. */
const patience = 20_000;

/** Control characters but line breaks and tabs: what could steer a terminal. */
const steering = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/**
 * What comes of reading something hostile: it is taken, or refused in words that an operator can read. Anything else (another error,
 * a long wait, words that steer the terminal) is a fault of ours.
 *
 * @returns what was read, or undefined where it was refused
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
      throw new Error(`an error that nobody foresaw: ${error instanceof Error ? error.stack : error}\nof: ${shown()}`);
    }
    const words = describeError(error);
    expect(words, shown()).not.toMatch(steering);
    expect(words.trim(), shown()).not.toBe('');
    inTime();
    return undefined;
  }
}
