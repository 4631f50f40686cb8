import type { Reader } from '../../engine/host/host.ts';
import { readScript } from '../../engine/host/script.ts';
import { type Finding, fault } from './judge.ts';

const script = readScript(new URL('../../../templates/host/degraded-arrays.sh', import.meta.url));

/**
 * Arrays that have lost a disk: all works on, and the next fault of a disk may take the data.
 *
 * @param proc where the kernel says it
 */
export async function readArrays(host: Reader, proc = '/proc'): Promise<readonly Finding[]> {
  const said = await host.$`sh -c ${script} arrays ${proc}`;
  return said.lines().map((words) => fault('degraded-array', 'disk', words));
}
