import type { Reader } from '../../../lib/engine/host/host.ts';
import { command } from '../../../lib/engine/host/step.ts';
import { directory } from '../../../lib/engine/resource/file/directory.ts';
import { file } from '../../../lib/engine/resource/file/file.ts';
import { line } from '../../../lib/engine/resource/file/line.ts';
import { drift, expectation, ok, type Resource, task } from '../../../lib/engine/resource/resource.ts';
import { type Context, role } from '../../../lib/engine/resource/role.ts';
import { packages } from '../../../lib/engine/resource/system/packages.ts';
import { service } from '../../../lib/engine/resource/system/service.ts';
import { timezone } from '../../../lib/engine/resource/system/timezone.ts';
import { type Workload, workload } from '../workload.ts';

/** The workload as a role. */
export default role('workload', ({ facts }) => [
  ...preflight(facts),
  packages(...workload.packages),
  ...workload.groups.map(group),
  ...workload.users.map(user),
  ...workload.directories.map(({ path, mode, owner, group }) =>
    directory(path).mode(bits(mode)).owner(owner).group(group),
  ),
  ...workload.files.map(({ path, mode, owner, group, content }) =>
    file(path).content(content).mode(bits(mode)).owner(owner).group(group),
  ),
  ...workload.sysctl.map(kernelSetting),
  ...workload.units.map((unit) => service(unit)),
  timezone(workload.timezone),
  ...workload.hostsLines.map((text) => line('/etc/hosts', text)),
]);

const bits = (mode: string): number => Number.parseInt(mode, 8);

function preflight(facts: Context<unknown>['facts']): Resource[] {
  const wanted = workload.preflight;
  const known = (name: string, met: boolean) =>
    expectation(name, { check: async () => (met ? ok : drift(`${name}: it is not so`)) });
  return [
    known(`distribution is ${wanted.distribution}`, facts.distribution.id === wanted.distribution),
    known(`version is ${wanted.version}`, facts.distribution.version === wanted.version),
    known(`processor is ${wanted.architecture}`, facts.architecture === wanted.architecture),
    known('memory suffices', facts.memory >= wanted.memory),
    known('processors suffice', facts.cpu.count >= wanted.processors),
    known('kernel is new enough', Number.parseInt(facts.kernel, 10) >= wanted.kernelMajor),
    known('systemd is the first process', facts.systemd),
    ...workload.freePorts.map((port) =>
      expectation(`port ${port} is free`, {
        check: async (host) => {
          const found = (await host.$`ss -Hltn`)
            .lines()
            .find((line) => line.split(/ +/)[3]?.endsWith(`:${port}`));
          return found === undefined ? ok : drift(found);
        },
      }),
    ),
  ];
}

function group({ name, gid }: Workload['groups'][number]): Resource {
  return task(`group ${name}`, {
    check: async (host) =>
      (await entry(host, 'group', name))?.[2] === String(gid)
        ? ok
        : drift('it is not there', [command`groupadd --gid ${gid} ${name}`]),
  });
}

function user({ name, uid, group }: Workload['users'][number]): Resource {
  const create = command`useradd --uid ${uid} --gid ${group} --no-create-home --shell /usr/sbin/nologin ${name}`;
  return task(`user ${name}`, {
    check: async (host) =>
      (await entry(host, 'passwd', name))?.[2] === String(uid) ? ok : drift('it is not there', [create]),
  });
}

/** Each reads its own entry only, so that an earlier change of another makes no check outdated. */
async function entry(host: Reader, database: 'group' | 'passwd', name: string): Promise<string[]> {
  return (await host.$`getent ${database} ${name}`).text().split(':');
}

/** As in the other tools: its own file in /etc/sysctl.d, and in effect. */
function kernelSetting({ key, value }: Workload['sysctl'][number]): Resource {
  const path = `/etc/sysctl.d/${key}.conf`;
  const kept = file(path).content(`${key} = ${value}\n`);
  const set = command`sysctl -q -p ${path}`;
  return task(`${key} is ${value}`, {
    check: async (host) => {
      const [verdict, inForce] = await Promise.all([kept.check(host), host.$`sysctl -n ${key}`]);
      if (verdict.is === 'drift' && Array.isArray(verdict.change))
        return { ...verdict, change: [...verdict.change, set] };
      return inForce.text() === value ? ok : drift(`${key} is not ${value}`, [set]);
    },
  });
}
