import { exitCode, Problem } from '../../engine/problem/problem.ts';
import { drift, ok, type Resource, task } from '../../engine/resource/resource.ts';

/** A directory for a database server. It only has to be there: the server's container gives it its own owner and mode. */
export function directoryThatItsContainerOwns(path: string): Resource {
  return task(`data directory ${path}`, {
    check: async (host) => {
      const inside = await host.stat(`${path}/.`);
      return inside ? ok : drift([{ what: 'directory', was: 'absent', wanted: path }]);
    },
    apply: async (host) => {
      const there = await host.stat(path);
      if (there)
        throw new Problem(`${path} is a ${there.type}, and a directory has to be there`, { code: exitCode.failed });
      await host.run`umask 022 && mkdir -p ${path}`;
    },
  });
}
