import type { Reader } from '../host.ts';
import { readScript } from '../script.ts';
import { blockDevicesCommand, parseBlockDevices } from './block-devices.ts';
import { cpuCommand, parseCpu } from './cpu.ts';
import type { Facts } from './facts.ts';
import { localMountsCommand, networkMountsCommand, parseMounts } from './mounts.ts';

/** Below the usual limit: a dead network mount or disk must not hold up everything. Seconds. */
const slowest = 20;
const networkMounts = 5;

const containerCommand = readScript(new URL('container.sh', import.meta.url));

/**
 * What is known of a host, in one trip. What a program that is missing there would tell stays empty.
 *
 * @throws Error where the host is no Linux that says of itself what it is
 */
export async function gatherFacts(host: Reader): Promise<Facts> {
  const asked = Date.now();
  const [release, machine, clock, cpu, memory, local, network, blocks, systemd, container] = await Promise.all([
    host.$`cat /etc/os-release 2>/dev/null || cat /usr/lib/os-release`,
    host.$`uname -n -r -m`,
    host.$`date +%s.%N`.then((output) => ({ output, answered: Date.now() })),
    run(host, cpuCommand),
    host.$`sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo`,
    run(host, localMountsCommand),
    run(host, networkMountsCommand, networkMounts),
    run(host, blockDevicesCommand),
    host.$`test -d /run/systemd/system`,
    run(host, containerCommand),
  ]);
  // In this order, whatever the order of the options.
  const [hostname, kernel, architecture] = machine.text().split(' ');
  if (architecture === undefined || kernel === undefined || hostname === undefined) {
    throw new Error(`${host.name}: uname gave no answer: ${machine.stderr.trim()}`);
  }
  return {
    distribution: parseRelease(release.stdout),
    architecture,
    kernel,
    cpu: parseCpu(cpu.stdout),
    memory: Number(memory.text()) * 1024,
    mounts: [...parseMounts(local.stdout), ...parseMounts(network.stdout)],
    blockDevices: parseBlockDevices(blocks.stdout),
    systemd: systemd.ok,
    container: container.lines()[0]?.replace(/^none$/, '') || undefined,
    clockOffset: leastOffset(clock.output.text(), asked / 1000, clock.answered / 1000),
    hostname,
  };
}

/**
 * The host looked at its clock at some moment between question and answer. Of the offsets that this leaves possible, the one
 * nearest to none: a slow trip is no wrong clock.
 *
 * @param clock seconds since 1970 as the host says them; busybox knows no fractions
 */
export function leastOffset(clock: string, asked: number, answered: number): number {
  const host = Number.parseFloat(clock);
  const exact = /\.\d/.test(clock);
  return Math.max(host - answered, 0) + Math.min((exact ? host : host + 1) - asked, 0);
}

/** Lines for the shell that runs the batch, in a process of their own: another shell would take longer than most of them. */
function run(host: Reader, lines: string, timeoutSeconds = slowest) {
  return host.$({ timeoutSeconds })`eval ${lines}`;
}

/** os-release(5): lines of NAME=value, quoted as for a shell. */
export function parseRelease(text: string): Facts['distribution'] {
  const values = new Map(
    text.split('\n').flatMap((line): [string, string][] => {
      const [, name, value = ''] = /^([A-Z_]+)=(.*)$/.exec(line.trim()) ?? [];
      return name === undefined ? [] : [[name, value.replace(/^(["'])(.*)\1$/, '$2').replace(/\\(.)/g, '$1')]];
    }),
  );
  const of = (name: string) => values.get(name) ?? '';
  return {
    id: of('ID'),
    version: of('VERSION_ID'),
    codename: of('VERSION_CODENAME'),
    title: of('PRETTY_NAME') || of('NAME'),
  };
}
