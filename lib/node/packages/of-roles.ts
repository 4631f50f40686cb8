import type { Context } from '../../engine/resource/role.ts';
import { inOneTransaction, type Packages } from '../../engine/resource/system/packages.ts';
import type { Variables } from '../variables/variables.ts';
import { toolPackages } from './client.ts';
import { enginePackages } from './engine.ts';
import { timePackages } from './time.ts';

/** By role. */
const packagesOf: Readonly<Record<string, (context: Context<Variables>) => Packages>> = {
  'client-tools': toolPackages,
  'time-sync': timePackages,
  docker: enginePackages,
};

/**
 * The packages of the roles of a host in this run, in one transaction of apt.
 *
 * @returns undefined where the host has no role with packages
 */
export function packagesOfRoles(context: Context<Variables>): Packages | undefined {
  const names = Object.keys(packagesOf).filter((name) => context.roles?.has(name) ?? true);
  const all = names.flatMap((name) => packagesOf[name]?.(context) ?? []);
  return all.length === 0 ? undefined : inOneTransaction(`packages of ${names.join(', ')}`, all);
}
