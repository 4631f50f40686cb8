import { statSync } from 'node:fs';
import { readBounded } from '../file/bounded-file.ts';
import { type Place, Problem } from '../problem/problem.ts';
import type { LocatedMap } from './located.ts';
import { parseYaml } from './parse-yaml.ts';

/**
 * An inventory of a thousand hosts has less than half of this; a larger file is some other file.
 * Bytes.
 */
export const largestInventory = 256 * 1024;

/**
 * Reads a YAML 1.2 file with a mapping at its top.
 *
 * @param file path, also as problems show it
 * @throws Problem where it is not a file, is too large or is not UTF-8
 * @throws UnfitFile for a folder, and where another user could have written the file
 * @throws Problem, Problems as `parseYaml`
 * @throws errors of the file system where the file cannot be read
 */
export async function readYamlFile(file: string): Promise<LocatedMap> {
  const found = statSync(file);
  const where = { file };
  // A device or a pipe may have no end.
  if (!found.isFile() && !found.isDirectory()) throw new Problem('this is not a file', { where });
  if (found.size > largestInventory) {
    throw new Problem(`this file is ${found.size} bytes long: that is no inventory`, { where });
  }
  const bytes = readBounded(file, largestInventory);
  const text = bytes.toString('utf8');
  const invalid = Buffer.from(text).findIndex((byte, at) => byte !== bytes[at]);
  if (invalid >= 0) {
    const before = bytes.toString('utf8', 0, invalid).split('\n');
    throw new Problem('this is not UTF-8 text', {
      where: { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 },
      hint: 'save the file as UTF-8',
    });
  }
  try {
    return parseYaml(text, file);
  } catch (error) {
    // It has groups in brackets, as an inventory of Ansible has.
    if (/\.toml$/i.test(file)) {
      const hint = 'write it as YAML: inventory/testnet.yaml is an example, and init makes one';
      throw new Problem('this is TOML, and an inventory is YAML', { where, hint });
    }
    const at = text.split('\n').findIndex((line) => lineOfIni.test(line));
    throw at < 0 ? error : ansibleInventory({ file, line: at + 1, column: 1 });
  }
}

/** Of an inventory of Ansible: a group such as `[rpc:children]`, or a host with variables. */
const lineOfIni = /^(\[[\w.:-]+\]\s*([#;].*)?|[^\s:#]+\s.*\bansible_\w+=.*)$/;

export function ansibleInventory(where: Place): Problem {
  return new Problem('this is an inventory of Ansible, and not one of rpc-playbooks', {
    where,
    hint: 'make one with init, or copy inventory/testnet.yaml; docs/from-ansible.md says what goes where',
  });
}
