import { readFile, stat } from 'node:fs/promises';
import { Problem } from '../problem/problem.ts';
import type { LocatedMap } from './located.ts';
import { parseYaml } from './parse-yaml.ts';

/** An inventory of a thousand hosts has less than half of this; a larger file is some other file. Bytes. */
const largest = 256 * 1024;

/**
 * Reads a YAML 1.2 file with a mapping at its top.
 *
 * @param file path, also as problems show it
 * @throws Problem where it is not a file, is too large or is not UTF-8
 * @throws Problem, Problems as `parseYaml`
 * @throws errors of the file system where the file cannot be read
 */
export async function readYamlFile(file: string): Promise<LocatedMap> {
  const found = await stat(file);
  const where = { file };
  // A device or a pipe may have no end. A folder is an error of readFile.
  if (!found.isFile() && !found.isDirectory()) throw new Problem('this is not a file', { where });
  if (found.size > largest) {
    throw new Problem(`this file is ${found.size} bytes long: that is no inventory`, { where });
  }
  const bytes = await readFile(file);
  const text = bytes.toString('utf8');
  const invalid = Buffer.from(text).findIndex((byte, at) => byte !== bytes[at]);
  if (invalid >= 0) {
    const before = bytes.toString('utf8', 0, invalid).split('\n');
    throw new Problem('this is not UTF-8 text', {
      where: { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 },
      hint: 'save the file as UTF-8',
    });
  }
  return parseYaml(text, file);
}
