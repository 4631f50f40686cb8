import { quote } from '../quote.ts';
import type { Kind } from './batch.ts';
import { checkPath, programMissing } from './path.ts';

/** One `sha256sum` over all paths. */
export const sha256Kind: Kind<string, string | undefined> = {
  name: 'sha256',
  id: checkPath,
  command: (paths) => `sha256sum -- ${quote(paths)}`,
  answers(output) {
    if (programMissing(output.exitCode)) throw new Error(`sha256sum: ${output.stderr.trim()}`);
    return new Map(output.lines().flatMap((line) => parse(line) ?? []));
  },
  absent: () => undefined,
};

/** A line begins with a backslash where the name holds one, and each of the name's is doubled then. */
function parse(line: string): [string, string][] | undefined {
  const [, escaped, hex, path] = /^(\\?)([0-9a-f]{64}) [ *](.*)$/.exec(line) ?? [];
  if (hex === undefined || path === undefined) return undefined;
  return [[escaped ? path.replaceAll('\\\\', '\\') : path, hex]];
}
