import { role } from '../lib/engine/resource/role.ts';
import { skipWhen } from '../lib/engine/resource/skip-when.ts';
import { component } from '../lib/node/render/component.ts';
import { nodeContainer, versionStays } from '../lib/node/server/version-change.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** Before a change of the node's version: its images are pulled while the former version still serves. */
export default role<Variables>('next-version', async (context) => {
  const components = await Promise.all(
    ['prover' as const, nodeContainer(context)].map((name) => component(context, name)),
  );
  return components.map(({ image }) => skipWhen(versionStays(context), image));
});
