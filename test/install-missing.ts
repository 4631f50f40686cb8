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
  // Another test may install packages at the same time: apt's lists have a lock without a time limit.
  const script = `for try in 1 2 3 4 5 6 7 8 9 10; do
    apt-get update -q && apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends "$@" && exit
    sleep 10
  done
  exit 1`;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('sh', ['-c', script, 'install', ...missing], { env, stdio: 'ignore' });
}
