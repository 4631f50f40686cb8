import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cgroupFor } from './cgroup.ts';

/** A light host: systemd and sshd in their own namespaces, over a shared read-only file system. */
export interface Host {
  readonly name: string;
  readonly address: string;
  /** Process number of its init, as seen from here. */
  readonly pid: number;
}

export interface Hosts {
  readonly all: readonly Host[];
  /** A private key that root may log in with, and the keys of all hosts. */
  readonly identityFile: string;
  readonly knownHostsFile: string;
  /**
   * Runs a script as root on hosts, without SSH.
   *
   * @throws Error if it fails on one
   */
  runOn(hosts: readonly Host[], script: string): Promise<string[]>;
}

/** Addresses of the controller and of the hosts on their common bridge. */
const controllerAddress = '10.90.0.1/16';
export const addressOf = (index: number): string =>
  `10.90.${1 + Math.floor(index / 200)}.${1 + (index % 200)}`;
/** The address of the same host with these milliseconds added to each round trip. */
export const delayedAddressOf = (index: number, milliseconds: number): string =>
  `127.${milliseconds}.${1 + Math.floor(index / 200)}.${1 + (index % 200)}`;

/**
 * Boots hosts. Works only in the private namespaces that bench.mjs makes: they end together.
 *
 * @param root file system that all of them start from
 * @param directory for keys and files of the hosts
 */
export async function startHosts(
  count: number,
  root: string,
  directory: string,
  delays: readonly number[],
): Promise<Hosts> {
  const identityFile = join(directory, 'identity');
  makeKey(identityFile);
  const publicKey = readFileSync(`${identityFile}.pub`, 'utf8');
  ip('link', 'set', 'lo', 'up');
  ip('link', 'add', 'hosts', 'type', 'bridge');
  ip('addr', 'add', controllerAddress, 'dev', 'hosts');
  ip('link', 'set', 'hosts', 'up');

  const known: string[] = [];
  const all: Host[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = `host-${String(index + 1).padStart(3, '0')}`;
    const seed = join(directory, name);
    mkdirSync(seed);
    makeKey(join(seed, 'ssh_host_ed25519_key'));
    writeFileSync(join(seed, 'authorized_keys'), publicKey, { mode: 0o600 });
    const key = readFileSync(join(seed, 'ssh_host_ed25519_key.pub'), 'utf8').trim();
    const addresses = [
      addressOf(index),
      ...delays.map((milliseconds) => delayedAddressOf(index, milliseconds)),
    ];
    known.push(`${addresses.join(',')} ${key}\n`);

    const pid = await boot(name, [root, seed, name]);
    plug(index, pid);
    all.push({ name, address: addressOf(index), pid });
    // Booting all at once is not faster.
    if (index % 8 === 7) await answers(all.at(-1) as Host);
  }
  for (const host of all) await answers(host);
  const knownHostsFile = join(directory, 'known_hosts');
  writeFileSync(knownHostsFile, known.join(''));
  return { all, identityFile, knownHostsFile, runOn };
}

/** A veth pair from the bridge to the host. */
function plug(index: number, pid: number): void {
  ip(
    'link',
    'add',
    `h${index}`,
    'master',
    'hosts',
    'type',
    'veth',
    'peer',
    'name',
    'eth0',
    'netns',
    String(pid),
  );
  ip('link', 'set', `h${index}`, 'up');
  const inside = (...args: string[]) => execFileSync('nsenter', ['-t', String(pid), '-n', 'ip', ...args]);
  inside('addr', 'add', `${addressOf(index)}/16`, 'dev', 'eth0');
  inside('link', 'set', 'lo', 'up');
  inside('link', 'set', 'eth0', 'up');
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function makeKey(path: string): void {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', path]);
}

/**
 * @returns its init, once that is systemd
 */
async function boot(name: string, args: readonly string[]): Promise<number> {
  const script = fileURLToPath(new URL('boot-host.sh', import.meta.url));
  const own = ['--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child'];
  const enter = ['-c', 'echo $$ >"$0/cgroup.procs"; exec "$@"', cgroupFor(name).path];
  const running = spawn('sh', [...enter, 'unshare', ...own, 'sh', script, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  running.stderr.on('data', (chunk) => {
    said += String(chunk);
  });
  while (running.exitCode === null) {
    const [child] = readOr(`/proc/${running.pid}/task/${running.pid}/children`).split(' ');
    if (child && readOr(`/proc/${child}/comm`).trim() === 'systemd') return Number(child);
    await delay(5);
  }
  throw new Error(`${name} did not boot: ${said}`);
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/**
 * @throws Error if its sshd does not answer within two minutes
 */
async function answers(host: Host): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (performance.now() < deadline) {
    try {
      const [listening] = await runOn([host], 'ss -Hltn "sport = :22"; systemctl is-active cron.service');
      if (listening?.includes(':22 ') && listening.includes('active')) return;
    } catch {
      // It has not started yet.
    }
    await delay(50);
  }
  throw new Error(`${host.name} did not come up`);
}

/** More at once would only wait for the processors. */
const atOnce = 4;

async function runOn(hosts: readonly Host[], script: string): Promise<string[]> {
  const said: string[] = [];
  const left = [...hosts.entries()];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [index, host] = next;
      said[index] = await runInside(host, script);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return said;
}

function runInside(host: Host, script: string): Promise<string> {
  const into = ['-t', String(host.pid), '-m', '-u', '-i', '-n', '-p', '-C', '-r', '-w'];
  return new Promise((resolve, reject) => {
    const running = spawn('nsenter', [...into, 'env', '-i', `PATH=${path}`, 'LC_ALL=C', 'sh', '-s'], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [running.stdout, running.stderr]) {
      stream.on('data', (chunk) => {
        said += String(chunk);
      });
    }
    running.on('error', reject);
    running.on('close', (code) => (code === 0 ? resolve(said) : reject(new Error(`${host.name}: ${said}`))));
    running.stdin.on('error', () => {});
    running.stdin.end(script);
  });
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
