import { setMaxListeners } from 'node:events';
import { exitCode } from '../problem/problem.ts';

/** A shell between npx and us may be replaced by us: then the terminal and npx both send the signal, moments apart. Milliseconds. */
const sameAgain = 250;

/**
 * Turns Ctrl-C into an orderly stop: the first aborts the signal, so that running changes are finished and no new ones begun;
 * the second ends the process at once.
 *
 * @returns the signal, what a Ctrl-C does, and a function that takes the listeners away
 */
export function interruption(): { signal: AbortSignal; interrupt: () => void; release: () => void } {
  const controller = new AbortController();
  // Each host has some; Node takes more than ten for a mistake, and says so.
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
