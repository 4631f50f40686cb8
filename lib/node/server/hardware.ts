import type { Facts } from '../../engine/host/facts/facts.ts';

/**
 * Of both kinds of server, besides the disk: spec part 1, "Server roles and recommended hardware".
 */
const requiredHardware = { cores: 64, mhz: 3050, memory: 128e9 } as const;

/** Without these the prover ends with exit code 132 and no log line. */
export const requiredCpuFlags = ['avx2', 'bmi2', 'adx'] as const;

/** One line of the hardware table, and what a host has. */
export interface HardwareFinding {
  /** `64 CPU cores` */
  readonly wanted: string;
  readonly seen: string;
  readonly met: boolean;
  readonly hint?: string;
}

/**
 * Compares a host with the hardware table, besides its disk. Sizes are decimal, as disks and
 * memory are sold: of 128 GiB of memory, firmware and kernel leave more than 128 GB.
 */
export function hardwareFindings({ cpu, memory }: Pick<Facts, 'cpu' | 'memory'>): HardwareFinding[] {
  return [
    {
      wanted: `${requiredHardware.cores} CPU cores`,
      seen: `${cpu.count}`,
      met: cpu.count >= requiredHardware.cores,
    },
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
  ];
}

/** Decimal, as disks are sold. */
export function gigabytes(bytes: number): string {
  const value = bytes / 1e9;
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.floor(value)} GB`;
}
