import type { Context } from '../../engine/resource/role.ts';
import { type Packages, packages, packagesThatLack } from '../../engine/resource/system/packages.ts';
import { timesyncdIsEnough } from '../server/timesyncd.ts';
import type { Variables } from '../variables/variables.ts';

/** chrony, where the distribution's own time service is not enough. */
export function timePackages({ vars }: Context<Variables>): Packages {
  const chrony = packages('chrony');
  return packagesThatLack(chrony.name, async (host) => {
    const [missing, isEnough] = await Promise.all([chrony.missing(host), timesyncdIsEnough(host, vars)]);
    return isEnough ? [] : missing;
  });
}
