import { makeDirectory } from '../../engine/host/step.ts';
import { Failure } from '../../engine/problem/problem.ts';
import { drift, ok, type Resource, task } from '../../engine/resource/resource.ts';

/** A directory for a database server. Its container sets owner and mode. */
export function directoryThatItsContainerOwns(path: string): Resource {
  return task(`data directory ${path}`, {
    check: async (host) => {
      const [inside, there] = await Promise.all([host.stat(`${path}/.`), host.stat(path)]);
      if (inside) return ok;
      const change = there
        ? new Failure(`${path} is a ${there.type}, and has to be a directory`)
        : [makeDirectory(path)];
      return drift([{ what: 'directory', was: there ? `a ${there.type}` : 'absent', wanted: path }], change);
    },
  });
}
