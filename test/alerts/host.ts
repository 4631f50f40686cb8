import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readProgram } from '../../lib/engine/host/script.ts';
import { packetFilterChains, restoreLines } from '../../lib/engine/resource/network/packet-filter-rules.ts';
import { product } from '../../lib/node/server/product.ts';
import { type Namespaces, namespaces } from '../kinds/namespaces.ts';
import { type Clock, startClock } from './clock.ts';
import { containers, type Engine, startEngine } from './engine.ts';
import { type HostMetrics, startHostMetrics } from './host-metrics.ts';
import { type SmallHost, startSmallHost } from './small-host.ts';

const template = (name: string) => new URL(`../../templates/host/${name}.sh`, import.meta.url);

/** Disks of the host: what each is for, and its size. */
const disks = { growing: '512M', full: '256M', inodes: '64M', data: '64M' } as const;
export type Disk = keyof typeof disks;

/**
 * A host in namespaces of this machine, with a real Docker engine, disks, and rules of a firewall,
 * its memory and its processor. The project's own scripts measure it all the time, as their timers
 * do, and a real node_exporter shows what they wrote.
 */
export interface WatchedHost {
  readonly space: Namespaces;
  readonly engine: Engine;
  readonly small: SmallHost;
  readonly clock: Clock;
  readonly exporter: HostMetrics;
  /** The textfile collector's folder. */
  readonly textfiles: string;
  /** Its folder of a disk. */
  disk(name: Disk): string;
  mount(name: Disk): Promise<string>;
  readonly certificates: { readonly own: string; readonly database: string };
  /** Puts a certificate there that ends after so many days. */
  certify(path: string, days: number): void;
  /** The timers that may be stopped: of the metrics, and of the firewall. */
  readonly timers: { metrics: boolean; firewall: boolean };
  stop(): Promise<void>;
}

/**
 * Starts one. Needs root.
 *
 * @param folder for its files
 * @param address of its node_exporter, on this machine
 */
export async function startHost(folder: string, address: string): Promise<WatchedHost> {
  const space = await namespaces();
  const small = startSmallHost(folder);
  const stop = () => {
    small.stop();
    space.remove();
  };
  return startIn(space, small, folder, address, stop).catch((error) => {
    stop();
    throw error;
  });
}

async function startIn(
  space: Namespaces,
  small: SmallHost,
  folder: string,
  address: string,
  remove: () => void,
): Promise<WatchedHost> {
  await space.run(`mount --bind ${small.files.meminfo} /proc/meminfo
    mount --bind ${small.files.stat} /proc/stat`);
  const disk = (name: Disk) => join(folder, 'disks', name);
  const mount = (name: Disk) => space.run(`mount -o loop ${disk(name)}.img ${disk(name)}`);
  for (const name of Object.keys(disks) as Disk[]) {
    makeDisk(disk(name), disks[name]);
    await mount(name);
  }
  const engine = await startEngine(space, folder);
  const clock = await startClock(space, folder, engine.bin);
  const certificates = certificatesIn(folder);
  for (const path of Object.values(certificates)) certify(path, 90);
  const paths = Object.values(certificates);
  const exporter = await startExporter(folder, address, space, engine, paths);
  await rememberData(folder, space, disk('data'));
  const firewall = await loadFirewall(folder, space);
  const timers = { metrics: true, firewall: true };
  let runs = true;
  // As a timer of systemd: what fails runs again.
  const running = (async () => {
    while (runs) {
      if (timers.firewall) await space.run(firewall).catch(() => {});
      if (timers.metrics) await exporter.measure().catch(() => {});
      await sleep(1500);
    }
  })();
  const textfiles = join(folder, 'textfiles');
  return {
    ...{ space, engine, clock, small, exporter, textfiles, disk, mount, certificates, certify, timers },
    async stop() {
      runs = false;
      await running;
      await exporter.stop();
      await engine.stop().catch(() => {});
      remove();
    },
  };
}

/** A file system in a file, and the folder for it. */
function makeDisk(path: string, size: string): void {
  mkdirSync(path, { recursive: true });
  execFileSync('truncate', ['-s', size, `${path}.img`]);
  // Few inodes, so that a test can use them up.
  execFileSync('mkfs.ext4', ['-q', '-m', '0', '-N', '256', `${path}.img`]);
}

/** One in `monitoring.certificates`, and that of a database server. */
function certificatesIn(folder: string) {
  mkdirSync(join(folder, `${product}/tls`), { recursive: true });
  return { own: join(folder, 'own.pem'), database: join(folder, `${product}/tls/server.pem`) };
}

function certify(path: string, days: number): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', '/dev/null'];
  const words = ['req', '-x509', ...key, '-subj', '/CN=test', '-days', String(days), '-out', path];
  execFileSync('openssl', words, { stdio: 'pipe' });
}

/** The real scripts of metrics and node_exporter, of which only the folders are other ones. */
async function startExporter(
  folder: string,
  address: string,
  space: Namespaces,
  engine: Engine,
  certificates: readonly string[],
): Promise<HostMetrics> {
  const settings = {
    CONTAINERS: containers.join(' '),
    CERTIFICATES: certificates.join(' '),
    FIREWALL: `/run/${product}/firewall/state`,
  };
  const environment = {
    PATH: `${engine.bin}:${process.env.PATH}`,
    DATA_DISKS_MEMORY: join(folder, 'memory'),
  };
  const inside = ['nsenter', ...space.words];
  const others = (await mountsOf(space)).filter((path) => !path.startsWith(join(folder, 'disks')));
  return startHostMetrics(folder, address, settings, environment, {
    script: inside,
    // On this machine's network, and one process that a signal reaches.
    exporter: inside.filter((word) => word !== '--net' && word !== '--pid'),
    options: [
      ...['cpu', 'filesystem', 'meminfo'].map((name) => `--collector.${name}`),
      `--collector.filesystem.mount-points-exclude=^(${others.join('|')})$`,
    ],
  });
}

/** Mount points of a host, each for a regular expression: those of this machine are there, too. */
async function mountsOf(space: Namespaces): Promise<string[]> {
  const mounts = (await space.run('cat /proc/mounts')).trim().split('\n');
  return mounts.map((line) => (line.split(' ')[1] ?? '').replaceAll(/[^\w/-]/g, '\\$&'));
}

/** The memory of the host where its data lies, as a deploy writes it. */
async function rememberData(folder: string, space: Namespaces, path: string): Promise<void> {
  const program = join(folder, 'data-disks');
  writeFileSync(program, readProgram(template('docker-root'), template('data-disks')), { mode: 0o755 });
  await space.run(
    `DATA_DISKS_MEMORY=${join(folder, 'memory')} ${program} remember state-db ${path}/state-db`,
  );
}

/**
 * Rules that let nobody to the database from outside.
 *
 * @returns the command that keeps them
 */
async function loadFirewall(folder: string, space: Namespaces): Promise<string> {
  const rules = join(folder, `etc/${product}/firewall`);
  mkdirSync(join(rules, '..'), { recursive: true });
  const group = {
    name: 'INTERNAL',
    ports: [{ protocol: 'tcp', published: '5432', target: '5432' }],
    sources: [],
  } as const;
  for (const family of [4, 6] as const)
    writeFileSync(`${rules}.v${family}`, restoreLines(packetFilterChains('RPC-PLAYBOOKS', [group], family)));
  writeFileSync(`${rules}.networks`, '');
  const keep = `sh ${template('firewall').pathname} ${rules} RPC-PLAYBOOKS`;
  await space.run(keep);
  return keep;
}
