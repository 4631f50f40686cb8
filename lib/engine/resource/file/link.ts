import { drift, fileChange, ok, type Resource } from '../resource.ts';
import { refuseNoText } from '../settings.ts';
import { inTheWay } from './attributes.ts';

/**
 * A symbolic link. Another link is replaced in one step; a file or a directory in its place is
 * refused. The target may be absent.
 *
 * @param target as it is written into the link
 * @example link('/usr/local/bin/node', '/opt/node/bin/node')
 */
export function link(path: string, target: string): Resource {
  refuseNoText('link', { path, target });
  return {
    name: `link ${path}`,
    changes: () => [fileChange(path)],

    async check(host) {
      const found = await host.stat(path);
      if (found?.type === 'link' && found.target === target) return ok;
      const other = found ? `a ${found.type}` : 'absent';
      const was = found?.type === 'link' ? `link to ${found.target}` : other;
      const isFree = !found || found.type === 'link';
      return drift(
        [{ what: 'link', was, wanted: `link to ${target}` }],
        isFree ? [{ do: 'link', path, target }] : inTheWay(path, was, 'symbolic link'),
      );
    },
  };
}
