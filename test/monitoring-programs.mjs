// The programs of the monitor come with packages that would also start servers: only the programs
// are taken out of the packages.
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { $ } from 'zx';

const tools = join(import.meta.dirname, '../.lab/tools');
const programAt = (/** @type {string} */ name) => join(tools, name);
/** Where the programs are once `getMonitoringPrograms` has been called. */
export const promtool = programAt('promtool');
export const prometheus = programAt('prometheus');
export const nodeExporter = programAt('prometheus-node-exporter');
export const blackboxExporter = programAt('prometheus-blackbox-exporter');
export const postgresExporter = programAt('prometheus-postgres-exporter');
/** Beside it are its templates, which it wants below /usr/share. */
export const alertmanager = programAt('prometheus-alertmanager');
/** It would set this machine's clock, if its package were installed. */
export const chronyd = programAt('chronyd');
export const chronyc = programAt('chronyc');

/** Debian's packages, and what is taken out of each. */
const wanted = {
  prometheus: ['usr/bin/prometheus', 'usr/bin/promtool'],
  'prometheus-node-exporter': ['usr/bin/prometheus-node-exporter'],
  'prometheus-blackbox-exporter': ['usr/bin/prometheus-blackbox-exporter'],
  'prometheus-postgres-exporter': ['usr/bin/prometheus-postgres-exporter'],
  'prometheus-alertmanager': [
    'usr/bin/prometheus-alertmanager',
    'usr/share/prometheus/alertmanager/default.tmpl',
    'usr/share/prometheus/alertmanager/email.tmpl',
  ],
  chrony: ['usr/sbin/chronyd', 'usr/bin/chronyc'],
};

/** Gets the programs from the distribution's packages. Needs root and apt. */
export async function getMonitoringPrograms() {
  const files = Object.values(wanted).flat();
  if (files.every((file) => existsSync(programAt(basename(file))))) return;
  const quiet = $({ quiet: true });
  const debs = Object.keys(wanted);
  const folder = (await quiet`mktemp -d`).stdout.trim();
  try {
    await quiet({
      cwd: folder,
    })`chmod 755 . && (apt-get -q download ${debs} || (apt-get -q update && apt-get -q download ${debs}))`;
    await quiet({ cwd: folder })`for package in *.deb; do dpkg-deb -x "$package" .; done`;
    for (const file of files) await quiet`install -D ${join(folder, file)} ${programAt(basename(file))}`;
  } finally {
    await quiet`rm -rf ${folder}`;
  }
}
