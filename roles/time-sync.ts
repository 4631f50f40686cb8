import { directory } from '../lib/engine/resource/file/directory.ts';
import { file } from '../lib/engine/resource/file/file.ts';
import { drift, ok, type Resource } from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { okWhen } from '../lib/engine/resource/skip-when.ts';
import { service } from '../lib/engine/resource/system/service.ts';
import { timezone } from '../lib/engine/resource/system/timezone.ts';
import { timePackages } from '../lib/node/packages/time.ts';
import {
  chronySources,
  clockIsSynchronised,
  clockOfMachineIsRight,
  withoutDistributionServers,
} from '../lib/node/server/chrony.ts';
import { timesyncdIsEnough } from '../lib/node/server/timesyncd.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const sources = '/etc/chrony/sources.d/deployment.sources';
const dropIns = '/etc/systemd/system/chrony.service.d';
const inContainer = `${dropIns}/container.conf`;

/** Every server keeps UTC, with its clock synchronised (spec part 1, operating rules). */
export default role<Variables>('time-sync', (context) => {
  const { vars, facts, roles } = context;
  const given = vars.time_servers.length > 0;
  // A container cannot set the machine's clock: chrony only observes it.
  const dropIn = facts.container ? [directory(dropIns), file(inContainer).content(observeOnly)] : [];
  const chrony = [
    ...(given ? [file(sources).content(chronySources(vars.time_servers)), withoutDistributionServers()] : []),
    ...dropIn,
    service('chrony', [
      ...(given ? [sources, '/etc/chrony/chrony.conf'] : []),
      ...(facts.container ? [inContainer] : []),
    ]),
    clockIsSynchronised({ isOwn: facts.container === undefined }),
    ...(facts.container ? [clockOfMachineIsRight()] : []),
  ];
  return [
    ...(roles?.has('packages') ? [] : [timePackages(context)]),
    ...chrony.map((resource) => unlessTimesyncd(context, resource)),
    // The same zone has two names.
    okWhen(timezone('UTC'), timezone('Etc/UTC')),
  ];
});

function unlessTimesyncd({ vars }: Context<Variables>, resource: Resource): Resource {
  return okWhen(
    { check: async (host) => ((await timesyncdIsEnough(host, vars)) ? ok : drift([])) },
    resource,
  );
}

/** The distribution's unit has a condition: it starts only where the clock may be set. */
const observeOnly = `[Unit]
ConditionCapability=

[Service]
ExecStart=
ExecStart=!/usr/sbin/chronyd $DAEMON_OPTS -x
`;
