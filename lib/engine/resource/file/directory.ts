import { posix } from 'node:path';
import type { FileAttributes } from '../../host/host.ts';
import { makeDirectory } from '../../host/step.ts';
import { type Difference, drift, driftOf, refused, type Verdict } from '../resource.ts';
import { refuseNoText } from '../settings.ts';
import {
  attributeDifferences,
  describeAttributes,
  inTheWay,
  modeOf,
  type WithAttributes,
} from './attributes.ts';
import { systemFolderAt } from './system-folders.ts';

type DirectoryResource = WithAttributes<DirectoryResource>;

/**
 * A directory, root's and 0755 by default. Missing parents are created, 0755. Its content is left
 * alone. A link to a directory is accepted where only root can change it. A folder of the system,
 * such as `/etc`, keeps its mode and owner: a resource with others is refused.
 *
 * @example directory('/srv/reports').mode(0o750).group('operators')
 */
export function directory(path: string, ...more: never[]): DirectoryResource {
  refuseNoText('directory', { path });
  if (more.length > 0)
    throw new TypeError(`directory ${path} has no options: write directory('${path}').mode(…).owner(…)`);
  return make(path, { mode: 0o755, owner: 'root', group: 'root' });
}

function make(path: string, wanted: FileAttributes): DirectoryResource {
  const change = [makeDirectory(path, wanted)];
  return {
    name: `directory ${path}`,
    mode: (bits) => make(path, { ...wanted, mode: modeOf(path, bits) }),
    owner: (name) => make(path, { ...wanted, owner: String(name) }),
    group: (name) => make(path, { ...wanted, group: String(name) }),

    async check(host) {
      // `path/.` exists only if path is a directory or leads to one.
      const [inside, itself] = await Promise.all([host.stat(`${path}/.`), host.stat(path)]);
      if (inside) {
        const differences = attributeDifferences(inside, wanted);
        const isTop = posix.resolve(path) === '/';
        const system = isTop || differences.length > 0 ? await systemFolderAt(host, path) : undefined;
        return system === undefined ? driftOf(differences, change) : ofSystem(path, system, differences);
      }
      const was = itself ? `a ${itself.type}` : 'absent';
      const difference = { what: 'directory', was, wanted: `directory, ${describeAttributes(wanted)}` };
      return drift([difference], itself ? inTheWay(path, was, 'directory') : change);
    },
  };
}

/** A folder whose mode and owner the whole host depends on. */
function ofSystem(path: string, folder: string, differences: readonly Difference[]): Verdict {
  const hint = 'name a folder of your own below it, or leave the task out';
  if (folder === '/') return refused(`${path} is the top folder of the host, and is left as it is`, hint);
  const name = posix.resolve(path) === folder ? path : `${path}, which leads to ${folder},`;
  const attributes = differences.map(({ what }) => what);
  const changes = differences.map(({ was, wanted }) => `${was} -> ${wanted}`).join(', ');
  return refused(
    `${name} is a folder of the system, and its ${attributes.join(' and ')} would change: ${changes}`,
    `${hint}: with another mode or owner, its users could be locked out`,
  );
}
