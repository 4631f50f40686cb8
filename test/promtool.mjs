// promtool comes with Prometheus' package, which would also start a server: only this program is
// taken out of the package.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { $ } from 'zx';

/** Where the program is once `getPromtool` has been called. */
export const promtool = join(import.meta.dirname, '../.lab/tools/promtool');

/** Gets promtool from the distribution's package. Needs root and apt. */
export async function getPromtool() {
  if (existsSync(promtool)) return;
  const quiet = $({ quiet: true });
  const folder = (await quiet`mktemp -d`).stdout.trim();
  try {
    await quiet({
      cwd: folder,
    })`apt-get -q update && chmod 755 . && apt-get -q download prometheus && dpkg-deb -x prometheus_*.deb .`;
    await quiet`install -D ${join(folder, 'usr/bin/promtool')} ${promtool}`;
  } finally {
    await quiet`rm -rf ${folder}`;
  }
}
