import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Installs Debian packages if their files are missing. Needs root.
 *
 * @param needed a file, and the package that has it
 */
export function installMissing(needed: readonly (readonly [path: string, name: string])[]): void {
  const missing = needed.flatMap(([path, name]) => (existsSync(path) ? [] : [name]));
  if (missing.length === 0) return;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', ['update', '-q'], { env, stdio: 'ignore' });
  execFileSync('apt-get', ['install', '-q', '-y', '--no-install-recommends', ...missing], {
    env,
    stdio: 'ignore',
  });
}
