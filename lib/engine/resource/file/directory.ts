import type { FileAttributes, Reader } from '../../host/host.ts';
import { CommandFailed } from '../../host/output.ts';
import { drift, driftOf } from '../resource.ts';
import { attributeDifferences, describeAttributes, inTheWay, octal, type WithAttributes } from './attributes.ts';

type DirectoryResource = WithAttributes<DirectoryResource>;

/**
 * A directory, root's and 0755 by default. Missing parents are created, 0755. Its content is left alone. A link to a directory is
 * accepted.
 */
export function directory(path: string): DirectoryResource {
  return make(path, { mode: 0o755, owner: 'root', group: 'root' });
}

function make(path: string, wanted: FileAttributes): DirectoryResource {
  const read = async (host: Reader) => {
    // `path/.` exists only if path is a directory or leads to one.
    const [inside, itself] = await Promise.all([host.stat(`${path}/.`), host.stat(path)]);
    return { inside, itself };
  };
  return {
    name: `directory ${path}`,
    mode: (mode) => make(path, { ...wanted, mode }),
    owner: (owner) => make(path, { ...wanted, owner: String(owner) }),
    group: (group) => make(path, { ...wanted, group: String(group) }),

    async check(host) {
      const { inside, itself } = await read(host);
      if (inside) return driftOf(attributeDifferences(inside, wanted));
      const was = itself ? `a ${itself.type}` : 'absent';
      return drift([{ what: 'directory', was, wanted: `directory, ${describeAttributes(wanted)}` }]);
    },

    async apply(host) {
      const { owner, group, mode } = wanted;
      try {
        // The owner first: the kernel clears set-user-id bits when the owner changes.
        await host.run`umask 022 && mkdir -p ${path} && chown ${`${owner}:${group}`} ${path} && chmod ${octal(mode)} ${path}`;
      } catch (error) {
        // Only after a failure: otherwise this is one request less.
        const { inside, itself } = error instanceof CommandFailed ? await read(host) : {};
        if (!itself || inside) throw error;
        throw inTheWay(path, `a ${itself.type}`, 'directory', error);
      }
    },
  };
}
