import { readdirSync } from 'node:fs';
import { aMount } from '../../lib/engine/host/testing/disk-facts.ts';
import type { Resource } from '../../lib/engine/resource/resource.ts';
import type { Role } from '../../lib/engine/resource/role.ts';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { driftCheck } from '../../lib/node/monitor/drift-check.ts';
import { type Changes, labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { contextOf } from '../../lib/node/testing/role-context.ts';
import type { Variables } from '../../lib/node/variables/variables.ts';

process.env.SCHEDULES_PASSWORD = 'schedules.Pw~5';
const password = 'env:SCHEDULES_PASSWORD';

/** A deployment with a host of every group that has a schedule. */
export const withSchedules: Changes = [
  [['groups', 'replica'], { 'replica-1': { address: '10.0.0.31' } }],
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.41' } }],
  [['groups', 'monitor'], { 'mon-1': { address: '10.0.0.61' } }],
  [['vars', 'replica'], { password }],
  [['vars', 'backup'], { password, drill_hours: 24 }],
  [['vars', 'monitoring'], { drift_check: { every_minutes: 60, user: 'nobody' } }],
];

/** All resources of all roles on the first host of a group. */
export async function resourcesIn(
  group: 'database' | 'backup' | 'monitor',
  changes: Changes = withSchedules,
): Promise<readonly Resource[]> {
  const context = await contextOf({ changes, group, facts: { mounts: [aMount('/')] } });
  const folder = new URL('../../roles/', import.meta.url);
  const roles = readdirSync(folder).filter((name) => !name.endsWith('.test.ts') && name.endsWith('.ts'));
  const all = await Promise.all(
    roles.map(async (name) => {
      const { default: role } = (await import(new URL(name, folder).href)) as { default: Role<Variables> };
      // Some are of a host that is somewhere in a switch or a recovery.
      return Promise.resolve(role.resources(context)).catch(() => []);
    }),
  );
  return all.flat();
}

/** Every schedule of the deployment by the name of its unit, and that of a controller. */
export async function allSchedules(): Promise<ReadonlyMap<string, Resource>> {
  const groups = await Promise.all((['database', 'backup', 'monitor'] as const).map((each) => resourcesIn(each)));
  const inventory = await loadDeployment(await labDeployment(withSchedules));
  const found = [...groups.flat(), ...driftCheck(inventory)].filter(({ name }) => name.startsWith('schedule '));
  return new Map(found.map((schedule) => [schedule.name.slice('schedule '.length), schedule]));
}
