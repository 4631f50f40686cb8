import type { Context } from '../../engine/resource/role.ts';
import { type Packages, packages, packagesThatLack } from '../../engine/resource/system/packages.ts';
import { timesyncd, timesyncdIsEnough } from '../server/timesyncd.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * chrony, where the distribution's own time service is not enough, in its place: a host has one
 * such package. Any other one is somebody's choice, and stays.
 */
export function timePackages({ vars }: Context<Variables>): Packages {
  const chrony = packages('chrony');
  const missing: Packages['missing'] = async (host) => {
    const [missing, isEnough] = await Promise.all([chrony.missing(host), timesyncdIsEnough(host, vars)]);
    return isEnough ? [] : missing;
  };
  return packagesThatLack(chrony.name, missing, { chrony: [timesyncd] });
}
