import { command } from '../../host/step.ts';
import { drift, ok, type Resource, refused } from '../resource.ts';
import { refuseNoText, refuseUnknownSettings } from '../settings.ts';
import { localGroups } from './accounts-file.ts';

/**
 * A local group.
 *
 * @param settings.gid its number; without it the host chooses one
 * @example group('operators', { gid: 900 })
 */
export function group(name: string, settings: { readonly gid?: number } = {}): Resource {
  refuseNoText('group', { name });
  refuseUnknownSettings(`group ${name}`, settings, { gid: true });
  const { gid } = settings;
  return {
    name: `group ${name}`,

    async check(host) {
      const found = (await localGroups(host)).find((each) => each.name === name);
      if (!found) {
        const number = gid === undefined ? [] : ['--gid', gid];
        return drift(
          [{ what: 'group', was: 'absent', wanted: 'present' }],
          [command`groupadd ${number} ${name}`],
        );
      }
      if (gid === undefined || found.gid === gid) return ok;
      return refused(
        `group ${name} has the number ${found.gid}, not ${gid}`,
        'files keep the number of their group: change both by hand, or correct the role',
      );
    },
  };
}
