import { readFileSync } from 'node:fs';
import { command } from '../../engine/host/step.ts';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import { driftOf, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { renderHost } from '../render/render.ts';
import { rulesPrefix } from '../server/packet-rules.ts';
import { product } from '../server/product.ts';
import type { Variables } from '../variables/variables.ts';

const script = readFileSync(new URL('../../../templates/host/remove.sh', import.meta.url), 'utf8');

/** What the tool has made on a host is gone. Data, packages and Docker stay. */
export async function madeThingsAreRemoved(context: Context<Variables>): Promise<Resource> {
  const { host, vars } = context;
  const { files } = await renderHost(context);
  const { deployment } = vars.paths;
  const paths = [...files.map(({ path }) => path), `${deployment}/downloads/genesis.json`];
  const words = [product, configHashLabel, rulesPrefix, deployment, ...paths];
  return {
    name: 'what the tool has made is removed',
    async check(reader) {
      const made = (await reader.$({ stdin: script })`sh -s -- list ${words}`).lines();
      const remove = command({ stdin: script, timeoutSeconds: 600 })`sh -s -- remove ${words}`;
      const verdict = driftOf(
        made.map((line) => ({ what: line, was: 'there', wanted: 'removed' })),
        [remove],
      );
      const note = `data stay in ${vars.paths.data} and in Docker's own folder; delete ${host.name} in the inventory, then deploy`;
      return verdict.is === 'drift' ? { ...verdict, note } : verdict;
    },
  };
}
