import { aMount } from '../../lib/engine/host/testing/disk-facts.ts';
import type { Resource } from '../../lib/engine/resource/resource.ts';
import type { Role } from '../../lib/engine/resource/role.ts';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { driftCheck } from '../../lib/node/monitor/drift-check.ts';
import { type Changes, labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { contextOf } from '../../lib/node/testing/role-context.ts';
import type { Variables } from '../../lib/node/variables/variables.ts';

process.env.SCHEDULES_PASSWORD = 'schedules.Pw~5';
process.env.SCHEDULES_COPY_KEY = 'AKIASCHEDULES';
const password = 'env:SCHEDULES_PASSWORD';

/** Check mode on a schedule. */
export const checksItself: Changes[number] = [
  ['vars', 'monitoring'],
  { drift_check: { every_minutes: 60, user: 'root' } },
];

/** Where the copies of backups go: a bucket on the host itself. */
const copies = {
  copy_to: 's3://backups/lab',
  s3: {
    endpoint: 'http://127.0.0.1:7070',
    region: 'us-east-1',
    path_style: true,
    access_key: 'env:SCHEDULES_COPY_KEY',
    secret_key: 'env:SCHEDULES_COPY_KEY',
  },
};

/** A deployment with a host of every group that has a schedule. */
const withSchedules: Changes = [
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.41' } }],
  [['groups', 'monitor'], { 'mon-1': { address: '10.0.0.61' } }],
  [['vars', 'backup'], { password, drill_hours: 24, ...copies }],
  checksItself,
];

const folder = new URL('../../roles/', import.meta.url);

/** What a role has on the first host of a group. */
export async function resourcesOf(name: string, group: 'database' | 'backup' | 'monitor') {
  const { default: role } = (await import(new URL(`${name}.ts`, folder).href)) as {
    default: Role<Variables>;
  };
  const context = await contextOf({ changes: withSchedules, group, facts: { mounts: [aMount('/')] } });
  return role.resources(context);
}

/** Every schedule of the deployment by the name of its unit, and that of a controller. */
export async function allSchedules(): Promise<ReadonlyMap<string, Resource>> {
  const roles = [
    ...(['disk-alert', 'docker-root', 'exporters'] as const).map((name) => resourcesOf(name, 'database')),
    resourcesOf('backup', 'backup'),
  ];
  const all = [
    ...(await Promise.all(roles)).flat(),
    ...driftCheck(await loadDeployment(await labDeployment(withSchedules))),
  ];
  const schedules = all.filter(({ name }) => name.startsWith('schedule '));
  return new Map(schedules.map((schedule) => [schedule.name.slice('schedule '.length), schedule]));
}
