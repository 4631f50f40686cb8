import type { Reader } from '../../engine/host/host.ts';
import { readScript } from '../../engine/host/script.ts';

const files = ['docker-root', 'disks'].map(
  (name) => new URL(`../../../templates/host/${name}.sh`, import.meta.url),
);
const script = readScript(...files);

/** How full a file system is. Sizes are in bytes. */
export interface DiskUse {
  readonly mount: string;
  readonly size: number;
  readonly used: number;
  readonly available: number;
  readonly usedPercent: number;
}

/**
 * The file systems of some paths and of Docker's root, each once, as the disk alert reads them: a
 * path that does not exist yet counts for the file system that it will be on. A stopped engine is
 * not asked, because that would start it.
 */
export async function readDisks(host: Reader, paths: readonly string[]): Promise<readonly DiskUse[]> {
  const output = await host.$({ timeoutSeconds: 15 })`sh -c ${script} disks ${paths}`;
  return diskUses(output.lines());
}

/**
 * Reads the output of df.
 *
 * @param lines of `df -P -k`: device, total KiB, used, available, use in per cent, mount point,
 * which may hold spaces
 */
function diskUses(lines: readonly string[]): DiskUse[] {
  const seen = new Set<string>();
  return lines.flatMap((line) => {
    const [, device = '', size, used, available, percent, mount = ''] =
      /^(.+?)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)%\s+(\/.*)$/.exec(line) ?? [];
    if (mount === '') return [];
    // A disk may be mounted more than once: the engine mounts its own root onto itself.
    const id = device.startsWith('/dev/') ? device : mount;
    if (seen.has(id)) return [];
    seen.add(id);
    const bytes = (kibibytes: string | undefined) => Number(kibibytes) * 1024;
    return [
      {
        mount,
        size: bytes(size),
        used: bytes(used),
        available: bytes(available),
        usedPercent: Number(percent),
      },
    ];
  });
}
