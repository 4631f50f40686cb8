import { exitCode, Problem } from '../../engine/problem/problem.ts';
import { drift, ok, type Resource, task } from '../../engine/resource/resource.ts';

/** A directory for a database server. Its container sets owner and mode. */
export function directoryThatItsContainerOwns(path: string): Resource {
  return task(`data directory ${path}`, {
    check: async (host) => {
      const inside = await host.stat(`${path}/.`);
      return inside ? ok : drift([{ what: 'directory', was: 'absent', wanted: path }]);
    },
    apply: async (host) => {
      const there = await host.stat(path);
      if (there) throw new Problem(`${path} is a ${there.type}, and has to be a directory`, { code: exitCode.failed });
      await host.run`umask 022 && mkdir -p ${path}`;
    },
  });
}
