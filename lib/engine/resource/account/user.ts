import type { Reader } from '../../host/host.ts';
import { command, type Step } from '../../host/step.ts';
import { drift, driftOf, type Resource, refused, unknownUntil } from '../resource.ts';
import { refuseNoText, refuseUnknownSettings } from '../settings.ts';
import { localGroups, localUsers } from './accounts-file.ts';

interface UserSettings {
  /** Its number; without it the host chooses one. */
  readonly uid?: number;
  /** Groups that it belongs to beside its main one. It keeps the others that it has. */
  readonly groups?: readonly string[];
  /** Default /bin/bash. */
  readonly shell?: string;
}

/**
 * A local user with a home directory and no password: the user logs in by key (`authorizedKey`).
 * Its main group has its name, and is made where it is missing.
 *
 * @example user('deploy', { groups: ['docker'] })
 */
export function user(name: string, settings: UserSettings = {}): Resource {
  refuseNoText('user', { name });
  refuseUnknownSettings(`user ${name}`, settings, { uid: true, groups: true, shell: true });
  const { uid, groups = [], shell = '/bin/bash' } = settings;
  return {
    name: `user ${name}`,

    async check(host) {
      const [users, missing] = await Promise.all([localUsers(host), missingGroups(host, name, groups)]);
      if (missing.unknown) return unknownUntil(`group ${missing.unknown} exists`);
      const found = users.find((each) => each.name === name);
      if (!found) {
        const number = uid === undefined ? [] : ['--uid', uid];
        const others = groups.length === 0 ? [] : ['--groups', groups.join(',')];
        // The group may be made between this check and the change.
        const create = command`useradd --create-home $(cut -d: -f1 /etc/group | grep -qxF ${name} && echo --gid ${name} || echo --user-group) --shell ${shell} ${number} ${others} ${name}`;
        return drift([{ what: 'user', was: 'absent', wanted: 'present' }], [create]);
      }
      if (uid !== undefined && found.uid !== uid) {
        return refused(
          `user ${name} has the number ${found.uid}, not ${uid}`,
          'files keep the number of their owner: change both by hand, or correct the role',
        );
      }
      const isOther = found.shell !== shell;
      const change: Step[] = [
        ...(isOther ? [command`usermod --shell ${shell} ${name}`] : []),
        ...(missing.left.length > 0
          ? [command`usermod --append --groups ${missing.left.join(',')} ${name}`]
          : []),
      ];
      return driftOf(
        [
          ...(isOther ? [{ what: 'shell', was: found.shell, wanted: shell }] : []),
          ...missing.left.map((group) => ({ what: `member of ${group}`, was: 'no', wanted: 'yes' })),
        ],
        change,
      );
    },
  };
}

/**
 * @returns the groups that the user does not belong to, and one that does not exist
 */
async function missingGroups(host: Reader, name: string, wanted: readonly string[]) {
  const there = new Map((await localGroups(host)).map((group) => [group.name, group]));
  return {
    left: wanted.filter((group) => !there.get(group)?.members.includes(name)),
    unknown: wanted.find((group) => !there.has(group)),
  };
}
