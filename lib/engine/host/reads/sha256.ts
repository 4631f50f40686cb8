import { quote } from '../quote.ts';
import type { VectorRead } from './batch.ts';
import { checkPath, ownFile, requireProgram } from './path.ts';

/** Leaves out what is not a file: the open of a pipe would wait for a writer. */
const files = 'for p do shift; [ ! -f "$p" ] || set -- "$@" "$p"; done; [ $# = 0 ]';

/** One `sha256sum` over all paths. */
export const sha256Read: VectorRead<string, string | undefined> = {
  name: 'sha256',
  id: checkPath,
  path: ownFile,
  command: (paths) => `(set -- ${quote(paths)}; ${files} || sha256sum -- "$@")`,
  answers(output) {
    requireProgram('sha256sum', output);
    const hashes = new Map<string, string>();
    // A line begins with a backslash if the name has one, and then each in the name is doubled.
    for (const [, escaped, hash = '', path = ''] of output.stdout.matchAll(/^(\\?)([0-9a-f]{64}) [ *](.*)$/gm)) {
      hashes.set(escaped ? path.replaceAll('\\\\', '\\') : path, hash);
    }
    return hashes;
  },
  absent: () => undefined,
};
