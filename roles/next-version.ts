import { role } from '../lib/engine/resource/role.ts';
import { skipWhen } from '../lib/engine/resource/skip-when.ts';
import { component } from '../lib/node/render/component.ts';
import { nodeContainers } from '../lib/node/variables/services.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { versionStays } from '../lib/node/version/version-change.ts';

/**
 * Before a change of the node's version: its images are pulled while the former version still
 * serves.
 */
export default role<Variables>('next-version', async (context) => {
  const components = await Promise.all(
    // On one server for all, sync and json-rpc have the same image.
    ['prover' as const, ...nodeContainers(context.host.groups).slice(0, 1)].map((name) =>
      component(context, name),
    ),
  );
  return components.map(({ image }) => skipWhen(versionStays(context), image));
});
