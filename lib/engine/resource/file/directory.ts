import type { FileAttributes, Reader } from '../../host/host.ts';
import { CommandFailed } from '../../host/output.ts';
import { quote } from '../../host/quote.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { drift, driftOf, type Resource } from '../resource.ts';
import { attributeDifferences, describeAttributes, octal } from './attributes.ts';

/** A directory that has to be there, with mode, owner and group. What is in it is left alone. */
export interface DirectoryResource extends Resource {
  /** @param mode permission bits. Default 0o755 */
  mode(mode: number): DirectoryResource;
  /** @param owner a user's name or number. Default root */
  owner(owner: string | number): DirectoryResource;
  /** @param group a group's name or number. Default root */
  group(group: string | number): DirectoryResource;
}

/** A directory, root's and 0755 unless said otherwise. Missing parents are made, 0755. A link to a directory counts as one. */
export function directory(path: string): DirectoryResource {
  return make(path, { mode: 0o755, owner: 'root', group: 'root' });
}

function make(path: string, wanted: FileAttributes): DirectoryResource {
  const look = async (host: Reader) => {
    // `path/.` is there only where path is a directory or leads to one.
    const [inside, itself] = await Promise.all([host.stat(`${path}/.`), host.stat(path)]);
    return { inside, itself };
  };

  return {
    name: `directory ${path}`,
    mode: (mode) => make(path, { ...wanted, mode }),
    owner: (owner) => make(path, { ...wanted, owner: String(owner) }),
    group: (group) => make(path, { ...wanted, group: String(group) }),

    async check(host) {
      const { inside, itself } = await look(host);
      if (!inside) {
        const was = itself ? `a ${itself.type}` : 'absent';
        return drift([{ what: 'directory', was, wanted: `directory, ${describeAttributes(wanted)}` }]);
      }
      const differences = attributeDifferences(inside, wanted);
      return driftOf(differences);
    },

    async apply(host) {
      const { owner, group, mode } = wanted;
      try {
        // The owner first: the kernel clears set-user-id bits when the owner changes.
        await host.run`umask 022 && mkdir -p ${path} && chown ${`${owner}:${group}`} ${path} && chmod ${octal(mode)} ${path}`;
      } catch (error) {
        // Looked at only now: where all goes well, that is a trip less.
        const { inside, itself } = error instanceof CommandFailed ? await look(host) : {};
        if (!itself || inside) throw error;
        throw new Problem(`${path} is a ${itself.type}, and a directory has to be there`, {
          hint: `look at what it is for, and move it away: mv ${quote(path)} ${quote(`${path}.old`)}`,
          code: exitCode.failed,
          cause: error,
        });
      }
    },
  };
}
