import type { Reader } from '../lib/engine/host/host.ts';
import { directory } from '../lib/engine/resource/file/directory.ts';
import { file } from '../lib/engine/resource/file/file.ts';
import { ok, type Resource } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { packages } from '../lib/engine/resource/system/packages.ts';
import { service } from '../lib/engine/resource/system/service.ts';
import { timezone } from '../lib/engine/resource/system/timezone.ts';
import { chronySources, clockIsSynchronised, withoutDistributionServers } from '../lib/node/server/chrony.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const sources = '/etc/chrony/sources.d/deployment.sources';
const dropIns = '/etc/systemd/system/chrony.service.d';
const inContainer = `${dropIns}/container.conf`;

/** Every server keeps UTC, with its clock synchronised (spec part 1, operating rules). */
export default role<Variables>('time-sync', ({ vars, facts }) => {
  const servers = vars.time_servers;
  const given = servers.length > 0;
  // A container cannot set the machine's clock: chrony only observes it.
  const dropIn = facts.container ? [directory(dropIns), file(inContainer).content(observeOnly)] : [];
  const chrony = [
    packages('chrony'),
    ...(given ? [file(sources).content(chronySources(servers)), withoutDistributionServers()] : []),
    ...dropIn,
    service('chrony')
      .enabled()
      .running()
      .restartedAfter(
        ...(given ? [sources, '/etc/chrony/chrony.conf'] : []),
        ...(facts.container ? [inContainer] : []),
      ),
    clockIsSynchronised(),
  ];
  return [...(given ? chrony : chrony.map(unlessTimesyncdWorks)), timezoneUtc()];
});

/** The distribution's unit has a condition: it starts only where the clock may be set. */
const observeOnly = `[Unit]
ConditionCapability=

[Service]
ExecStart=
ExecStart=!/usr/sbin/chronyd $DAEMON_OPTS -x
`;

/** Without servers in the inventory, systemd-timesyncd is enough where it is enabled and has synchronised the clock. */
function unlessTimesyncdWorks(resource: Resource): Resource {
  return {
    ...resource,
    async check(host) {
      const [works, verdict] = await Promise.all([timesyncdWorks(host), resource.check(host)]);
      return works ? ok : verdict;
    },
  };
}

async function timesyncdWorks(host: Reader): Promise<boolean> {
  const [unit, synchronised] = await Promise.all([
    host.unit('systemd-timesyncd.service'),
    host.$`timedatectl show --property=NTPSynchronized --value`,
  ]);
  return unit.active === 'active' && unit.enabled === 'enabled' && synchronised.text() === 'yes';
}

/** The zone has two names. */
function timezoneUtc(): Resource {
  const wanted = timezone('Etc/UTC');
  const same = timezone('UTC');
  return {
    ...wanted,
    async check(host) {
      const [verdict, other] = await Promise.all([wanted.check(host), same.check(host)]);
      return other.is === 'ok' ? ok : verdict;
    },
  };
}
