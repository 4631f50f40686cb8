// The programs of Debian that tests start, in one installation. A test installs what it needs where
// it runs alone, or says that it is skipped; but each start of apt takes seconds of a processor.
import { existsSync } from 'node:fs';
import { canInstall, installPackages, isInstalled } from '../lab/engine.mjs';
import { getMonitoringPrograms } from './monitoring-programs.mjs';
import './typescript.mjs';

/** Without these, tests are skipped: a file, and the package that has it. */
const needed = {
  // Our encryption is compared with that of another program.
  '/usr/bin/age': 'age',
  // Checks every shell script.
  '/usr/bin/shellcheck': 'shellcheck',
  // The gateway's own program, with small RPC hosts of the test around it.
  '/usr/sbin/haproxy': 'haproxy',
  // Tests of the firewall send packets between network namespaces.
  '/sbin/ip': 'iproute2',
};

/** Debian 12 has all of these. */
const installedByTests = {
  '/bin/bsd-csh': 'csh',
  '/bin/busybox': 'busybox-static',
  '/bin/tcsh': 'tcsh',
  '/bin/zsh': 'zsh',
  '/usr/bin/barman': 'barman',
  '/usr/bin/bsdtar': 'libarchive-tools',
  '/usr/bin/chromium-headless-shell': 'chromium-headless-shell',
  '/usr/bin/docker-registry': 'docker-registry',
  '/usr/bin/faketime': 'faketime',
  '/usr/bin/fish': 'fish',
  '/usr/bin/kinit': 'krb5-user',
  '/usr/bin/rsync': 'rsync',
  '/usr/bin/socat': 'socat',
  '/usr/bin/softhsm2-util': 'softhsm2',
  '/usr/bin/strace': 'strace',
  '/usr/bin/stunnel': 'stunnel4',
  '/usr/bin/sudo': 'sudo',
  '/usr/bin/tmux': 'tmux',
  '/usr/bin/zstd': 'zstd',
  '/usr/lib/go-1.19/bin/go': 'golang-1.19-go',
  '/usr/lib/postgresql/15/bin/postgres': 'postgresql-15',
  '/usr/sbin/debootstrap': 'debootstrap',
  '/usr/sbin/dropbear': 'dropbear-bin',
  '/usr/sbin/kadmin.local': 'krb5-admin-server',
  '/usr/sbin/krb5kdc': 'krb5-kdc',
  '/usr/sbin/sshd': 'openssh-server',
  '/usr/share/fonts/truetype/dejavu': 'fonts-dejavu-core',
  '/usr/share/gocode/src/github.com/BurntSushi/toml': 'golang-github-burntsushi-toml-dev',
  '/usr/share/gocode/src/github.com/gorilla/websocket': 'golang-github-gorilla-websocket-dev',
  '/usr/share/gocode/src/github.com/lib/pq': 'golang-github-lib-pq-dev',
  '/usr/share/keyrings/debian-archive-keyring.gpg': 'debian-archive-keyring',
};

/** Installs what is missing. Without root and apt nothing is installed. */
export async function installPrograms() {
  if (!canInstall()) return;
  // The lab would install it next. One that the user chose stays.
  const engine = (await isInstalled('dockerd')) ? {} : { '/usr/sbin/dockerd': 'docker.io' };
  // Another release may not have one of them: the test that needs it says so then.
  await installMissing({ ...needed, ...engine, ...installedByTests }).catch(() => installMissing(needed));
  // Tests the rules for alerts, by promtool and by real faults of a gateway.
  await getMonitoringPrograms();
}

/**
 * Builds what tests of several streams need, and would build at the same moment. Where that fails, they
 * say why.
 */
export async function buildPrograms() {
  if (!canInstall()) return;
  const { getStorageServer } = await import('./storage-server.ts');
  await getStorageServer().catch(() => undefined);
}

/** @param {Readonly<Record<string, string>>} packages */
async function installMissing(packages) {
  const missing = Object.entries(packages).flatMap(([file, name]) => (existsSync(file) ? [] : [name]));
  if (missing.length > 0) await installPackages(...missing);
}
