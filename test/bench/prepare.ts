import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { workload } from './workload.ts';

/** Cached, not committed: the hosts' file system and the other tools. */
export const cache = fileURLToPath(new URL('../../.bench', import.meta.url));
export const baseRoot = join(cache, 'host');
export const peerProgram = (peer: 'ansible' | 'pyinfra', program: string): string =>
  join(cache, peer, 'bin', program);

const mirror = 'http://deb.debian.org/debian';
const release = 'bookworm';

/** Packages that a host has before the workload. Ansible and Mitogen need Python there. */
const hostPackages = [
  'systemd-sysv',
  'dbus',
  'openssh-server',
  'python3-minimal',
  'python3-apt',
  ...workload.packages,
];

/** Each in its own virtual environment. */
const peers = { ansible: ['ansible==12.3.0', 'mitogen==0.3.54'], pyinfra: ['pyinfra==3.10.0'] } as const;

/** Units of a server that would disturb the measurement, or cannot work here. */
const unused = [
  ...[
    'systemd-udevd',
    'systemd-logind',
    'console-getty',
    'getty@tty1',
    'systemd-remount-fs',
    'systemd-sysctl',
  ],
  ...['systemd-tmpfiles-setup-dev', 'systemd-modules-load', 'systemd-journal-flush'],
].map((name) => `${name}.service`);
const unusedElse = [
  ...[
    'apt-daily',
    'apt-daily-upgrade',
    'e2scrub_all',
    'fstrim',
    'dpkg-db-backup',
    'systemd-tmpfiles-clean',
  ].map((name) => `${name}.timer`),
  ...['dev-hugepages', 'dev-mqueue', 'sys-kernel-debug', 'sys-kernel-tracing'].map((name) => `${name}.mount`),
  'proc-sys-fs-binfmt_misc.automount',
];

const ours = ['node_modules/zx/build/cli.js', 'test/bench/tools/ours.mjs'].map((path) =>
  fileURLToPath(new URL(`../../${path}`, import.meta.url)),
);

/**
 * Makes missing parts of the cache, and compiles this project, as after its first run. Needs root
 * and the network.
 *
 * @returns the tools that are not available, and why
 */
export function prepare(say: (line: string) => void): Map<string, string> {
  mkdirSync(cache, { recursive: true });
  if (!existsSync(baseRoot)) {
    say(`making the hosts' file system: Debian ${release} (debootstrap)`);
    install('debootstrap', '/usr/sbin/debootstrap');
    makeBase();
  }
  const missing = new Map<string, string>();
  for (const [name, requirements] of Object.entries(peers)) {
    const mark = join(cache, name, 'requirements');
    const wanted = requirements.join('\n');
    if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) continue;
    say(`installing ${requirements.join(' ')}`);
    try {
      rmSync(join(cache, name), { recursive: true, force: true });
      run('python3', ['-m', 'venv', join(cache, name)]);
      run(join(cache, name, 'bin/pip'), ['install', '--quiet', ...requirements]);
      writeFileSync(mark, wanted);
    } catch (error) {
      missing.set(name, error instanceof Error ? (error.message.split('\n').at(-1) ?? '') : String(error));
    }
  }
  run(process.execPath, [...ours, '--help']);
  return missing;
}

/** Under another name until it is complete. */
function makeBase(): void {
  const half = `${baseRoot}.new`;
  rmSync(half, { recursive: true, force: true });
  run('debootstrap', ['--variant=minbase', `--include=${hostPackages.join(',')}`, release, half, mirror]);
  run('systemctl', [`--root=${half}`, '--quiet', 'mask', ...unused, ...unusedElse]);
  run('sh', [
    '-c',
    `rm -f "$0"/etc/ssh/ssh_host_* "$0"/var/cache/apt/archives/*.deb; : >"$0/etc/machine-id"`,
    half,
  ]);
  renameSync(half, baseRoot);
}

function install(name: string, program: string): void {
  if (existsSync(program)) return;
  run('apt-get', ['update', '-q']);
  run('apt-get', ['install', '-q', '-y', '--no-install-recommends', name]);
}

function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, {
    cwd: cache,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

/** Versions of all measured tools. */
export function versions(): string[] {
  const said = (program: string, ...args: string[]): string => {
    try {
      return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      return '';
    }
  };
  const ofPackages = (peer: keyof typeof peers, names: readonly string[]) =>
    said(peerProgram(peer, 'pip'), 'list', '--format=freeze')
      .split('\n')
      .filter((line) => names.includes(line.split('==')[0] ?? ''))
      .map((line) => line.replace('==', ' '));
  const ssh = said('sh', '-c', 'ssh -V 2>&1').split(',')[0] ?? '';
  return [
    `Node ${process.versions.node}`,
    ...ofPackages('ansible', ['ansible', 'ansible-core', 'mitogen']),
    ...ofPackages('pyinfra', ['pyinfra']),
    said(peerProgram('ansible', 'python'), '--version'),
    ssh,
  ].filter((text) => text !== '');
}
