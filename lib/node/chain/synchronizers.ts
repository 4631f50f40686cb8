import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { drift, ok, unknownUntil, type Verdict } from '../../engine/resource/resource.ts';

const script = readFileSync(new URL('../../../templates/host/synchronizers.sh', import.meta.url), 'utf8');

/** The container of this deployment's synchronizer. */
const syncContainer = 'sync';

/**
 * Whether a synchronizer runs on a host that should not run there, in a container or outside of
 * containers. One that is about to be started counts, and so does any container of the name
 * `sync`.
 *
 * @param isDatabaseHost whether the container `sync` may run there
 */
export async function noSynchronizerOn(host: Reader, isDatabaseHost: boolean): Promise<Verdict> {
  const output = await host.$`sh -c ${script} synchronizers ${syncContainer} ${isDatabaseHost ? 'own' : ''}`;
  if (!output.ok) {
    return drift(`what runs there cannot be seen: ${output.stderr.trim().split('\n').at(-1) || 'no answer'}`);
  }
  const found = output.lines().map((line) => line.split(' '));
  const running = found.flatMap(([what, name, more]) => {
    if (what === 'container') return [`the container ${name} is ${more}`];
    if (what === 'process') return [`the process ${name} (${more}) is a synchronizer`];
    return what === 'start' ? [`the process ${name} is about to start the container ${syncContainer}`] : [];
  });
  if (running.length > 0) return drift(running.join(', '));
  return found.some(([what]) => what === 'engine') ? unknownUntil('docker is running') : ok;
}
