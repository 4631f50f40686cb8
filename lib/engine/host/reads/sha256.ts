import { readScript, withArguments } from '../script.ts';
import type { VectorRead } from './batch.ts';
import { checkPath, ownFile, requireProgram } from './path.ts';

const files = ['../folder-names.sh', 'held-content.sh', 'sums.sh', 'sha256.sh'];
const script = readScript(...files.map((file) => new URL(file, import.meta.url)));

/** One `sha256sum` over all paths. */
export const sha256Read: VectorRead<string, string | undefined> = {
  name: 'sha256',
  id: checkPath,
  path: ownFile,
  command: (paths) => withArguments(script, [paths]),
  answers(output) {
    requireProgram('sha256sum', output);
    const hashes = new Map<string, string>();
    // A line begins with a backslash if the name has one, and then each in the name is doubled.
    for (const [, escaped, hash = '', path = ''] of output.stdout.matchAll(
      /^(\\?)([0-9a-f]{64}) [ *](.*)$/gm,
    )) {
      hashes.set(escaped ? path.replaceAll('\\\\', '\\') : path, hash);
    }
    return hashes;
  },
  absent: () => undefined,
};
