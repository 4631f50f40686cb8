import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Shell scripts, recognized by their first line. */
const scripts = ['templates', 'lab', 'test/bench'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && !/\.(ts|mjs|go|md)$/.test(file.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => /^#!\/bin\/(ba|da)?sh/.test(readFileSync(path, 'latin1')))
    .map((path) => relative(root, path)),
);

/** Installed by test/all.mjs. */
describe.skipIf(!existsSync('/usr/bin/shellcheck'))('shell scripts', () => {
  test('every script for hosts has a first line that names its shell', () => {
    const found = scripts.filter((path) => path.startsWith('templates/host/'));
    const files = readdirSync(join(root, 'templates/host')).filter((name) => name.endsWith('.sh'));
    expect(found.map((path) => basename(path)).sort()).toEqual(files.sort());
  });

  test.each(scripts)('shellcheck finds nothing in %s', (path) => {
    const { stdout } = spawnSync('shellcheck', [path], { cwd: root, encoding: 'utf8' });
    expect(stdout).toBe('');
  });
});
