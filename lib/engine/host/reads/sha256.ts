import { quote } from '../quote.ts';
import type { VectorRead } from './batch.ts';
import { checkPath, requireProgram } from './path.ts';

/** One `sha256sum` over all paths. */
export const sha256Read: VectorRead<string, string | undefined> = {
  name: 'sha256',
  id: checkPath,
  command: (paths) => `sha256sum -- ${quote(paths)}`,
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
