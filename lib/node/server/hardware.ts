import type { BlockDevice, Facts } from '../../engine/host/facts/facts.ts';

/** Of both kinds of server: spec part 1, "Server roles and recommended hardware". */
const requiredHardware = { cores: 64, mhz: 3050, memory: 128e9, disk: 2000e9 } as const;

/** Without these the prover ends with exit code 132 and no log line. */
export const requiredCpuFlags = ['avx2', 'bmi2', 'adx'] as const;

/** One line of the hardware table, and what a host has. */
interface HardwareFinding {
  /** `64 CPU cores` */
  readonly wanted: string;
  readonly seen: string;
  readonly met: boolean;
}

/**
 * Compares a host with the hardware table. Sizes are decimal, as disks and memory are sold: of 128 GiB of memory, firmware and kernel
 * leave more than 128 GB.
 */
export function hardwareFindings({
  cpu,
  memory,
  blockDevices,
}: Pick<Facts, 'cpu' | 'memory' | 'blockDevices'>): HardwareFinding[] {
  const disk = largestNvme(blockDevices);
  return [
    { wanted: `${requiredHardware.cores} CPU cores`, seen: `${cpu.count}`, met: cpu.count >= requiredHardware.cores },
    {
      wanted: `CPU cores of ${requiredHardware.mhz} MHz`,
      seen: `${Math.round(cpu.mhz)} MHz`,
      met: Math.round(cpu.mhz) >= requiredHardware.mhz,
    },
    {
      wanted: `${gigabytes(requiredHardware.memory)} of memory`,
      seen: gigabytes(memory),
      met: memory >= requiredHardware.memory,
    },
    {
      wanted: `an NVMe disk of ${gigabytes(requiredHardware.disk)}`,
      seen: disk ? `${disk.path} with ${gigabytes(disk.size)}` : 'no NVMe disk',
      met: (disk?.size ?? 0) >= requiredHardware.disk,
    },
  ];
}

function gigabytes(bytes: number): string {
  const value = bytes / 1e9;
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.floor(value)} GB`;
}

/** The largest NVMe disk, or array or volume on such disks. */
function largestNvme(devices: readonly BlockDevice[]): BlockDevice | undefined {
  const byPath = new Map(devices.map((device) => [device.path, device]));
  const isNvme = (device: BlockDevice): boolean => {
    const seen = new Set<string>();
    let at: BlockDevice | undefined = device;
    while (at && !seen.has(at.path)) {
      if (at.transport === 'nvme' || at.path.startsWith('/dev/nvme')) return true;
      seen.add(at.path);
      at = at.parent === undefined ? undefined : byPath.get(at.parent);
    }
    return false;
  };
  return devices
    .filter(isNvme)
    .reduce<BlockDevice | undefined>((best, next) => (best && best.size >= next.size ? best : next), undefined);
}
