// Plain JavaScript, and no more than it needs: it runs on each press of Tab.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { yamlDocuments } from '../../engine/file/yaml-documents.mjs';

/**
 * Names that a host pattern may have: hosts, groups, all. None where the inventory cannot be read.
 *
 * @param {string} folder of the inventories that are called by name
 * @param {string} nameOrFile
 * @returns {string[]}
 */
export function namesForPatterns(folder, nameOrFile) {
  const file = /\/|\.ya?ml$/.test(nameOrFile) ? nameOrFile : join(folder, `${nameOrFile}.yaml`);
  try {
    const groups = yamlDocuments(readFileSync(file, 'utf8'), { uniqueKeys: false })[0].toJS().groups;
    const hosts = Object.values(groups).flatMap((group) => Object.keys(group ?? {}));
    // What a shell would have to quote cannot be the name of a host, and is not offered.
    return [...new Set([...hosts, ...Object.keys(groups), 'all'])].filter((name) => /^[\w.:-]+$/.test(name));
  } catch {
    return [];
  }
}
