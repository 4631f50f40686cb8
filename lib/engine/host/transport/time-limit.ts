import { readScript, withArguments } from '../script.ts';

const processTree = readScript(new URL('process-tree.sh', import.meta.url));
const timeLimit = readScript(new URL('time-limit.sh', import.meta.url));

/** Shell: time limits of commands in lanes, as lane-watch.sh describes them. */
export const laneWatch = processTree + readScript(new URL('lane-watch.sh', import.meta.url));

/**
 * A script that ends itself and all its processes after some seconds. The code is 124 then, and
 * the last line of standard error is the nonce with `time limit`.
 */
export function withTimeLimit(script: string, seconds: number, nonce: string): string {
  return withArguments(processTree + timeLimit, [Math.ceil(seconds), nonce, script]);
}
