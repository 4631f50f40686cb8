import { command, write } from '../../host/step.ts';
import { driftOf, type Resource, refused, unknownUntil } from '../resource.ts';
import { refuseNoText } from '../settings.ts';

const database = '/usr/share/zoneinfo';
const link = '/etc/localtime';
/**
 * Debian and Ubuntu keep the name here as well, for some programs. Newer releases do not have this
 * file.
 */
const nameFile = '/etc/timezone';

/**
 * The host's time zone.
 *
 * @param zone a name of the time zone database: `Etc/UTC`
 * @example timezone('Etc/UTC')
 */
export function timezone(zone: string): Resource {
  refuseNoText('timezone', { zone });
  if (!/^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*$/.test(zone))
    throw new TypeError(`"${zone}" is no name of a time zone`);
  const noZone = `the time zone database of this host knows no ${zone}`;
  const relink = command`ln -sfT ${`${database}/${zone}`} ${`${link}.new`} && mv -T ${`${link}.new`} ${link}`;

  return {
    name: `time zone is ${zone}`,

    async check(host) {
      // timedatectl would read the link, too, but through a daemon that a minimal host lacks.
      const [at, name, known, installed] = await Promise.all([
        host.stat(link),
        host.read(nameFile),
        host.stat(`${database}/${zone}`),
        host.stat(database),
      ]);
      if (!installed) return unknownUntil('the time zone database (package tzdata) is installed');
      if (!known) return refused(noZone, 'install or repair the package tzdata there');
      const differences = [
        { what: link, was: at?.target?.replace(/^.*\/zoneinfo\//, '') ?? 'no link', wanted: zone },
        { what: nameFile, was: name?.toString().trim() ?? zone, wanted: zone },
      ].filter(({ was }) => was !== zone);
      return driftOf(differences, [
        ...differences.map(({ what }) => (what === link ? relink : write(nameFile, `${zone}\n`))),
        // A running one would show the old zone for half a minute. It starts on demand.
        command({ allow: [0, 1, 5] })`systemctl stop systemd-timedated.service`,
      ]);
    },
  };
}
