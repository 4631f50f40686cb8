import { exitCode } from '../problem.ts';

/**
 * Turns Ctrl-C into an orderly stop: the first aborts the signal, so that running changes are finished and no new ones begun;
 * the second ends the process at once.
 *
 * @returns the signal, what a Ctrl-C does, and a function that takes the listeners away
 */
export function interruption(): { signal: AbortSignal; interrupt: () => void; release: () => void } {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(exitCode.interrupted);
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
