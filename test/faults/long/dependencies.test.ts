import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { measured } from '../measured.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

let clone: string;
beforeAll(() => {
  clone = mkdtempSync('/var/tmp/fresh-clone-');
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

/** The output of npm audit: findings, or why there are none. */
interface Audit {
  readonly message?: string;
  readonly error?: { readonly summary?: string };
  readonly metadata?: { readonly vulnerabilities?: Readonly<Record<string, number>> };
}

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly version?: string;
        readonly resolved?: string;
        readonly integrity?: string;
        readonly link?: boolean;
      }
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
      // From the configured npm registry; the checksum shows that it is the same.
      expect(resolved, path).toBeUndefined();
      expect(integrity, path).toMatch(/^sha512-/);
    }
  });

  test('package.json itself names exact versions', () => {
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    ) as Record<string, Record<string, string>>;
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
      expect(version, name).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test('npm audit finds nothing high in what the playbooks are run with', ({ task, skip }) => {
    const words = ['audit', '--omit=dev', '--audit-level=high', '--json'];
    const { stdout, status } = spawnSync('npm', words, { cwd: root, encoding: 'utf8' });
    const { error, message, metadata } = JSON.parse(stdout) as Audit;
    if (error || message) {
      measured(
        task,
        `the package registry answers no audit (${(message ?? error?.summary ?? '').split(' - ')[0]})`,
      );
      skip();
    }
    expect(metadata?.vulnerabilities).toMatchObject({ high: 0, critical: 0 });
    expect(status).toBe(0);
  });

  test('a fresh clone is set up by npm ci --ignore-scripts, and its unit tests pass', {
    timeout: 600_000,
  }, () => {
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
