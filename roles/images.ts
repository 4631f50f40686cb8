import { role } from '../lib/engine/resource/role.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { serviceNames } from '../lib/node/variables/services.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * All images of a host, before anything else changes: one that is gone ends a rollback while the
 * present containers serve.
 */
export default role<Variables>('images', async (context) => {
  const { services } = await renderHost(context);
  const components = serviceNames.filter((name) => services[name]).map((name) => component(context, name));
  const images = (await Promise.all(components)).map(({ image }) => image);
  return images.filter(({ name }, at) => images.findIndex((other) => other.name === name) === at);
});
