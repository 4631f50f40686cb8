import { makeDirectory } from '../../host/action.ts';
import type { FileAttributes } from '../../host/host.ts';
import { drift, driftOf } from '../resource.ts';
import { attributeDifferences, describeAttributes, inTheWay, type WithAttributes } from './attributes.ts';

type DirectoryResource = WithAttributes<DirectoryResource>;

/**
 * A directory, root's and 0755 by default. Missing parents are created, 0755. Its content is left alone. A link to a directory is
 * accepted where only root can change it.
 *
 * @example directory('/srv/reports').mode(0o750).group('operators')
 */
export function directory(path: string): DirectoryResource {
  return make(path, { mode: 0o755, owner: 'root', group: 'root' });
}

function make(path: string, wanted: FileAttributes): DirectoryResource {
  const change = [makeDirectory(path, wanted)];
  return {
    name: `directory ${path}`,
    mode: (bits) => make(path, { ...wanted, mode: bits }),
    owner: (name) => make(path, { ...wanted, owner: String(name) }),
    group: (name) => make(path, { ...wanted, group: String(name) }),

    async check(host) {
      // `path/.` exists only if path is a directory or leads to one.
      const [inside, itself] = await Promise.all([host.stat(`${path}/.`), host.stat(path)]);
      if (inside) return driftOf(attributeDifferences(inside, wanted), change);
      const was = itself ? `a ${itself.type}` : 'absent';
      const difference = { what: 'directory', was, wanted: `directory, ${describeAttributes(wanted)}` };
      return drift([difference], itself ? inTheWay(path, was, 'directory') : change);
    },
  };
}
