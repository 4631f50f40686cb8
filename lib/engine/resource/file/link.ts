import { command } from '../../host/action.ts';
import { drift, fileChange, ok, type Resource } from '../resource.ts';
import { inTheWay } from './attributes.ts';

/**
 * A symbolic link. Another link is replaced in one step; a file or a directory in its place is refused. The target may be absent.
 *
 * @param target as it is written into the link
 * @example link('/usr/local/bin/node', '/opt/node/bin/node')
 */
export function link(path: string, target: string): Resource {
  return {
    name: `link ${path}`,
    changes: () => [fileChange(path)],

    async check(host) {
      const found = await host.stat(path);
      if (found?.type === 'link' && found.target === target) return ok;
      const was = found?.type === 'link' ? `link to ${found.target}` : found ? `a ${found.type}` : 'absent';
      const isFree = !found || found.type === 'link';
      const put = command`new=$(mktemp -u ${`${path}.XXXXXX`}) && ln -sT ${target} "$new" && mv -T "$new" ${path}`;
      return drift(
        [{ what: 'link', was, wanted: `link to ${target}` }],
        isFree ? [put] : inTheWay(path, was, 'symbolic link'),
      );
    },
  };
}
