import { type Context, role } from '../lib/engine/resource/role.ts';
import { inOneTransaction, type Packages } from '../lib/engine/resource/system/packages.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { toolPackages } from './client-tools.ts';
import { beforeEngine, enginePackages } from './docker.ts';
import { timePackages } from './time-sync.ts';

/** By role. */
const packagesOf: Readonly<Record<string, (context: Context<Variables>) => Packages>> = {
  'client-tools': toolPackages,
  'time-sync': timePackages,
  docker: enginePackages,
};

/** The packages of the host's later roles, in one transaction of apt. In a run without this role each of them installs its own. */
export default role<Variables>('packages', (context) => {
  const all = packagesOfRoles(context);
  if (all === undefined) return [];
  return [...(context.roles?.has('docker') === false ? [] : beforeEngine), all];
});

/**
 * @returns undefined where the host has no role with packages
 */
export function packagesOfRoles(context: Context<Variables>): Packages | undefined {
  const names = Object.keys(packagesOf).filter((name) => context.roles?.has(name) ?? true);
  const all = names.flatMap((name) => packagesOf[name]?.(context) ?? []);
  return all.length === 0 ? undefined : inOneTransaction(`packages of ${names.join(', ')}`, all);
}
