import { dockerCanBeUsed } from '../../engine/resource/docker/docker-there.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { aptDoesNoHarm } from '../../engine/resource/system/packages.ts';
import { packagesOfRoles } from '../packages/of-roles.ts';
import type { Variables } from '../variables/variables.ts';

/** What is installed already goes with what the deployment installs. */
export function softwareFits(context: Context<Variables>): Resource[] {
  const packages = packagesOfRoles(context);
  return [dockerCanBeUsed(), ...(packages ? [aptDoesNoHarm(packages)] : [])];
}
