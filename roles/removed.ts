import { readFileSync } from 'node:fs';
import { command } from '../lib/engine/host/step.ts';
import { Problem } from '../lib/engine/problem/problem.ts';
import { configHashLabel } from '../lib/engine/resource/docker/compose-service.ts';
import { driftOf } from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { product } from '../lib/node/server/product.ts';
import { readersOf } from '../lib/node/variables/hosts.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { rulesPrefix } from './firewall.ts';

const script = readFileSync(new URL('../templates/host/remove.sh', import.meta.url), 'utf8');

/** What the tool has made on an RPC server or a replica is gone; data, packages and Docker stay. */
export default role<Variables>('removed', async (context) => {
  const { host, vars } = context;
  refuseNeeded(context);
  const { files } = await renderHost(context);
  const { deployment } = vars.paths;
  const paths = [...files.map(({ path }) => path), `${deployment}/downloads/genesis.json`];
  const words = [product, configHashLabel, rulesPrefix, deployment, ...paths];
  return [
    {
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
    },
  ];
});

/**
 * @throws Problem for a server that the deployment needs
 */
function refuseNeeded({ host, hosts }: Context<Variables>): void {
  if (host.groups.includes('replica')) {
    const readers = readersOf(hosts, host).map(({ name }) => name);
    if (readers.length === 0) return;
    const hint = 'give them another one, or none, by replica.use in the inventory, deploy, and remove it then';
    throw new Problem(`${host.name} is read by ${readers.join(', ')}`, { hint });
  }
  const other = host.groups.find((group) => group !== 'rpc');
  if (other !== undefined)
    throw new Problem(`${host.name} is in group ${other}, too: only an RPC server or a replica can be removed`);
  if (hosts.filter(({ groups }) => groups.includes('rpc')).length > 1) return;
  throw new Problem(`${host.name} is the only RPC server`, { hint: 'add another one first' });
}
