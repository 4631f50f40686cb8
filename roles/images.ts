import { role } from '../lib/engine/resource/role.ts';
import { skipWhen } from '../lib/engine/resource/skip-when.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { imagesAreSigned } from '../lib/node/server/image-signatures.ts';
import { serviceNames } from '../lib/node/variables/services.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * All images of a host, before anything else changes: one that is gone ends a rollback while the
 * present containers serve. What is pulled is signed, if the inventory has a key.
 */
export default role<Variables>('images', async (context) => {
  const { services } = await renderHost(context);
  const components = serviceNames.filter((name) => services[name]).map((name) => component(context, name));
  const images = (await Promise.all(components)).map(({ image }) => image);
  const { images: names } = context.vars;
  const signed = (['node', 'prover', 'database'] as const).flatMap((name) => {
    const image = images.find((each) => each.name === `image ${names[name]}`);
    return image ? imagesAreSigned(context.vars, [name]).map((each) => skipWhen(image, each)) : [];
  });
  return [
    ...signed,
    ...images.filter(({ name }, at) => images.findIndex((other) => other.name === name) === at),
  ];
});
