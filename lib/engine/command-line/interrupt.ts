import { setMaxListeners } from 'node:events';
import { exitCode } from '../problem/problem.ts';

/** One Ctrl-C may arrive twice, from the terminal and from npx, moments apart. Milliseconds. */
const sameAgain = 250;

/**
 * Turns Ctrl-C into an orderly stop. The first one aborts the signal: running changes finish and
 * no new ones start. The second one ends the process at once.
 *
 * @returns the signal, a function that acts as a Ctrl-C, and one that removes the listeners
 */
export function interruption(): { signal: AbortSignal; interrupt: () => void; release: () => void } {
  const controller = new AbortController();
  // Every host adds listeners. Node warns of more than ten.
  setMaxListeners(0, controller.signal);
  let first: number | undefined;
  const onSignal = () => {
    const now = performance.now();
    if (first !== undefined && now - first >= sameAgain) process.exit(exitCode.interrupted);
    first ??= now;
    controller.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    interrupt: onSignal,
    release: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
