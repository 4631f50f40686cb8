// Plain JavaScript with few imports: it runs on each press of Tab.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { yamlDocuments } from '../../engine/file/yaml-documents.mjs';

/**
 * Names for a host pattern: hosts, groups, all. Empty where the inventory cannot be read.
 *
 * @param {string} folder of the named inventories
 * @param {string} nameOrFile
 * @returns {string[]}
 */
export function namesForPatterns(folder, nameOrFile) {
  const file = /\/|\.ya?ml$/.test(nameOrFile) ? nameOrFile : join(folder, `${nameOrFile}.yaml`);
  try {
    const groups = yamlDocuments(readFileSync(file, 'utf8'), { uniqueKeys: false })[0].toJS().groups;
    const hosts = Object.values(groups).flatMap((group) => Object.keys(group ?? {}));
    // A name that needs quotes in a shell is not a host's name.
    return [...new Set([...hosts, ...Object.keys(groups), 'all'])].filter((name) => /^[\w.:-]+$/.test(name));
  } catch {
    return [];
  }
}
