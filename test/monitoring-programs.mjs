// The programs of the monitor come with packages that would also start servers: only the programs
// are taken out of the packages.
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { $ } from 'zx';

const tools = join(import.meta.dirname, '../.lab/tools');
/** Where the programs are once `getMonitoringPrograms` has been called. */
export const promtool = join(tools, 'promtool');
export const prometheus = join(tools, 'prometheus');
export const nodeExporter = join(tools, 'prometheus-node-exporter');
export const blackboxExporter = join(tools, 'prometheus-blackbox-exporter');

export const postgresExporter = join(tools, 'prometheus-postgres-exporter');

const programs = [promtool, prometheus, nodeExporter, blackboxExporter, postgresExporter];

/** Gets the programs from the distribution's packages. Needs root and apt. */
export async function getMonitoringPrograms() {
  if (programs.every((path) => existsSync(path))) return;
  const quiet = $({ quiet: true });
  const folder = (await quiet`mktemp -d`).stdout.trim();
  const names = programs.map((path) => basename(path)).filter((name) => name !== 'promtool');
  try {
    await quiet({ cwd: folder })`apt-get -q update && chmod 755 . && apt-get -q download ${names}`;
    await quiet({ cwd: folder })`for package in *.deb; do dpkg-deb -x "$package" .; done`;
    for (const path of programs) await quiet`install -D ${join(folder, 'usr/bin', basename(path))} ${path}`;
  } finally {
    await quiet`rm -rf ${folder}`;
  }
}
