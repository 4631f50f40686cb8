import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { component } from '../render/component.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * The images that later roles need. They are pulled while the archives are downloaded.
 *
 * @param others resources that pull images, too: each image is pulled once
 */
export async function laterImages(
  context: Context<Variables>,
  others: readonly Resource[],
): Promise<Resource[]> {
  const names = ['prover', 'pool-db', 'sync'] as const;
  const components = await Promise.all(names.map((name) => component(context, name)));
  const byName = new Map(components.map(({ image }) => [image.name, image]));
  for (const { name } of others) byName.delete(name);
  return [...byName.values()];
}
