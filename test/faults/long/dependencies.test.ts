import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

let clone: string;
beforeAll(() => {
  clone = mkdtempSync('/var/tmp/fresh-clone-');
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      { readonly version?: string; readonly resolved?: string; readonly integrity?: string; readonly link?: boolean }
    >
  >;
}

describe('dependencies', () => {
  test('every package is pinned by the lockfile: an exact version and its checksum, from no place of its own', () => {
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
    const others = Object.entries(packages).filter(([path]) => path !== '');
    expect(others.length).toBeGreaterThan(20);
    for (const [path, { version, resolved, integrity }] of others) {
      expect(version, path).toMatch(/^\d+\.\d+\.\d+/);
      // From whatever registry npm is set up for; the checksum says that it is the same.
      expect(resolved, path).toBeUndefined();
      expect(integrity, path).toMatch(/^sha512-/);
    }
  });

  test('package.json itself names exact versions', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
      string,
      Record<string, string>
    >;
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
      expect(version, name).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test('a fresh clone is set up by npm ci --ignore-scripts, and its unit tests pass', { timeout: 600_000 }, () => {
    const run = (program: string, ...words: string[]) =>
      execFileSync(program, words, {
        cwd: clone,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env.PATH, HOME: process.env.HOME },
      });
    run('git', 'clone', '--quiet', root, '.');
    run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
    expect(run('npm', 'run', '--silent', 'test:unit')).toMatch(/Tests .*passed/);
  });
});
