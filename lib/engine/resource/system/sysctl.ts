import { command, write } from '../../host/step.ts';
import { driftOf, type Resource, refused } from '../resource.ts';
import { refuseNoText } from '../settings.ts';

/**
 * A setting of the kernel, now and after a reboot, in a file of its own in /etc/sysctl.d. After a
 * reboot, a file with a later name in that folder has priority.
 *
 * @param key as sysctl writes it: `vm.swappiness`
 * @example sysctl('net.core.somaxconn', 4096)
 */
export function sysctl(key: string, value: string | number): Resource {
  refuseNoText('sysctl', { key, value: typeof value === 'number' ? `${value}` : value });
  const path = `/etc/sysctl.d/90-${key.replaceAll('/', '.')}.conf`;
  const wanted = String(value);
  const content = `${key} = ${wanted}\n`;
  return {
    name: `kernel setting ${key} is ${wanted}`,

    async check(host) {
      const [live, file] = await Promise.all([host.$`sysctl -n -- ${key}`, host.read(path)]);
      if (!live.ok)
        return refused(
          `this kernel has no setting ${key}`,
          'correct the role, or load the module that has it',
        );
      // Several numbers have tabs between them.
      const now = live.text().replaceAll(/\s+/g, ' ');
      const atBoot = file?.toString() ?? 'absent';
      const differences = [
        { what: 'now', was: now, wanted: wanted.replaceAll(/\s+/g, ' ') },
        { what: path, was: atBoot, wanted: content },
      ].filter((each) => each.was !== each.wanted);
      return driftOf(differences, [write(path, content), command`sysctl -q -p ${path}`]);
    },
  };
}
