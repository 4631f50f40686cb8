import type { Reader } from '../host.ts';
import { readScript } from '../script.ts';
import { blockDevicesCommand, parseBlockDevices } from './block-devices.ts';
import { cpuCommand, parseCpu } from './cpu.ts';
import type { Facts } from './facts.ts';
import { parseFstab } from './fstab.ts';
import { localMountsCommand, networkMountsCommand, parseMounts } from './mounts.ts';
import { parseOsRelease } from './os-release.ts';

/** Seconds, below the usual limit: a dead network mount or disk must not delay everything. */
const factTimeout = 20;
const networkMountsTimeout = 5;

const containerCommand = readScript(new URL('container.sh', import.meta.url));

/**
 * The facts of a host, in one request. A fact of a missing program stays empty.
 *
 * @throws Error where uname does not work
 */
export async function gatherFacts(host: Reader): Promise<Facts> {
  const asked = Date.now();
  const [release, machine, clock, cpu, memory, local, network, blocks, systemd, container, fstab, vendor] =
    await Promise.all([
      host.$`cat /etc/os-release 2>/dev/null || cat /usr/lib/os-release`,
      host.$`uname -n -r -m`,
      host.$`date +%s.%N`.then((output) => ({ output, answered: Date.now() })),
      run(host, cpuCommand),
      host.$`sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo`,
      run(host, localMountsCommand),
      run(host, networkMountsCommand, networkMountsTimeout),
      run(host, blockDevicesCommand),
      host.$`test -d /run/systemd/system`,
      run(host, containerCommand),
      host.$`cat /etc/fstab`,
      host.$`cat /sys/class/dmi/id/sys_vendor`,
    ]);
  // In this order, whatever the order of the options.
  const [hostname, kernel, architecture] = machine.text().split(' ');
  if (architecture === undefined || kernel === undefined || hostname === undefined) {
    throw new Error(`${host.name}: uname gave no answer: ${machine.stderr.trim()}`);
  }
  return {
    distribution: parseOsRelease(release.stdout),
    architecture,
    kernel,
    cpu: parseCpu(cpu.stdout),
    memory: Number(memory.text()) * 1024,
    mounts: [...parseMounts(local.stdout), ...parseMounts(network.stdout)],
    blockDevices: parseBlockDevices(blocks.stdout),
    fstab: parseFstab(fstab.stdout),
    vendor: vendor.lines()[0]?.trim() ?? '',
    systemd: systemd.ok,
    container: container.lines()[0]?.replace(/^none$/, '') || undefined,
    clockOffset: leastOffset(clock.output.text(), asked / 1000, clock.answered / 1000),
    hostname,
  };
}

/**
 * The host read its clock at some moment between request and answer. Of the possible offsets, the
 * smallest: a slow request does not mean a wrong clock.
 *
 * @param clock seconds since 1970 as the host prints them; busybox has no fractions
 */
export function leastOffset(clock: string, asked: number, answered: number): number {
  const host = Number.parseFloat(clock);
  const exact = /\.\d/.test(clock);
  return Math.max(host - answered, 0) + Math.min((exact ? host : host + 1) - asked, 0);
}

/**
 * A script for the shell that runs the batch: another shell would take longer than most of them.
 */
function run(host: Reader, lines: string, timeoutSeconds = factTimeout) {
  return host.$({ timeoutSeconds })`eval ${lines}`;
}
