// Plain JavaScript with few imports: it runs on each press of Tab.
import { closeSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openTrusted } from '../../engine/file/trust.mjs';
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
    const opened = openTrusted(file);
    if ('faults' in opened) return [];
    const text = readFileSync(opened.file, 'utf8');
    closeSync(opened.file);
    const groups = yamlDocuments(text, { uniqueKeys: false })[0].toJS().groups;
    const hosts = Object.values(groups).flatMap((group) => Object.keys(group ?? {}));
    const settings = new Set(['vars', 'children', 'hosts']);
    // A name that needs quotes in a shell is not a host's name.
    return [...new Set([...hosts, ...Object.keys(groups), 'all'])].filter(
      (name) => /^[\w.:-]+$/.test(name) && !settings.has(name),
    );
  } catch {
    return [];
  }
}
