import type { Reader } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import { stoppedMark } from './stopped-mark.ts';

/** The time that sync gets to end what it writes, as at a deploy. Seconds. */
const stopLimit = 120;

/** One step: nothing is killed between the mark and the stop. */
export const stopForRewind = command({
  timeoutSeconds: 300,
})`install -D -m 644 /dev/null ${stoppedMark} && docker stop --time ${stopLimit} sync`;

export const startAgain = command`docker start sync && rm -f ${stoppedMark}`;

/**
 * When a rewind has stopped sync and has not started it again.
 *
 * @returns seconds since 1970; undefined for never
 */
export async function stoppedAt(host: Reader): Promise<number | undefined> {
  return (await host.stat(stoppedMark))?.modified;
}
