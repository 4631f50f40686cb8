import type { Reader } from '../../host/host.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { drift, driftOf, type Resource, unknownUntil } from '../resource.ts';

const database = '/usr/share/zoneinfo';
const link = '/etc/localtime';
/** Debian and Ubuntu keep the name here as well, for some programs. Newer releases do not have this file. */
const nameFile = '/etc/timezone';

/** The host's time zone. @param zone a name of the time zone database: `Etc/UTC` */
export function timezone(zone: string): Resource {
  if (!/^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*$/.test(zone)) throw new TypeError(`"${zone}" is no name of a time zone`);
  const noZone = `the time zone database of this host knows no ${zone}`;
  const read = async (host: Reader) => {
    // timedatectl would read the link, too, but through a daemon that a minimal host lacks.
    const [at, name, known, installed] = await Promise.all([
      host.stat(link),
      host.read(nameFile),
      host.stat(`${database}/${zone}`),
      host.stat(database),
    ]);
    const differences = [
      { what: link, was: at?.target?.replace(/^.*\/zoneinfo\//, '') ?? 'no link', wanted: zone },
      { what: nameFile, was: name?.toString().trim() ?? zone, wanted: zone },
    ].filter(({ was }) => was !== zone);
    return { differences, known, installed };
  };

  return {
    name: `time zone is ${zone}`,

    async check(host) {
      const { differences, known, installed } = await read(host);
      if (!installed) return unknownUntil('the time zone database (package tzdata) is installed');
      return known ? driftOf(differences) : drift(noZone);
    },

    async apply(host) {
      const { differences, known } = await read(host);
      if (!known) {
        throw new Problem(noZone, { hint: 'install or repair the package tzdata there', code: exitCode.failed });
      }
      if (differences.some(({ what }) => what === link)) {
        await host.run`ln -s ${`${database}/${zone}`} ${`${link}.new`} && mv -T ${`${link}.new`} ${link}`;
      }
      if (differences.some(({ what }) => what === nameFile)) {
        await host.write(nameFile, `${zone}\n`, { mode: 0o644, owner: 'root', group: 'root' });
      }
      // A running one would show the old zone for half a minute. It starts on demand.
      await host.run({ allow: [0, 1, 5] })`systemctl stop systemd-timedated.service`;
    },
  };
}
