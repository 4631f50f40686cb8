import { readScript, withArguments } from '../script.ts';

/** Shell: the function `__tree`, and the seconds between SIGTERM and SIGKILL as `$__grace`. */
export const processTree = readScript(new URL('process-tree.sh', import.meta.url));
const timeLimit = readScript(new URL('time-limit.sh', import.meta.url));

/** Shell: the function `__limit`, with the arguments of time-limit.sh. */
export const limitFunction = `${processTree}__limit(){ (\n${timeLimit}) }\n`;

/**
 * A script that ends itself and all its processes after some seconds. The code is 124 then, and the last line of standard error
 * is the nonce with `time limit`.
 */
export function withTimeLimit(script: string, seconds: number, nonce: string): string {
  return withArguments(processTree + timeLimit, [Math.ceil(seconds), nonce, script]);
}
