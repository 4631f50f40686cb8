import type { Resource } from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { inOneTransaction } from '../lib/engine/resource/system/packages.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { toolPackages } from './client-tools.ts';
import { beforeEngine, enginePackages } from './docker.ts';
import { timePackages } from './time-sync.ts';

/** By role. */
const packagesOf: Readonly<Record<string, (context: Context<Variables>) => Resource>> = {
  'client-tools': toolPackages,
  'time-sync': timePackages,
  docker: enginePackages,
};

/** The packages of the host's later roles, in one transaction of apt. In a run without this role each of them installs its own. */
export default role<Variables>('packages', (context) => {
  const names = Object.keys(packagesOf).filter((name) => context.roles?.has(name) ?? true);
  const all = names.flatMap((name) => packagesOf[name]?.(context) ?? []);
  if (all.length === 0) return [];
  return [
    ...(names.includes('docker') ? [beforeEngine] : []),
    inOneTransaction(`packages of ${names.join(', ')}`, all),
  ];
});
