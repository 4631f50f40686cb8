import type { Reader } from '../../host/host.ts';
import { command, type Step } from '../../host/step.ts';
import { drift, ok, type Resource, refused, unknownUntil, type Verdict } from '../resource.ts';

/** Of mkfs on a large disk. Seconds. */
const formatLimit = 3600;

interface Format {
  /** Whether a blank disk may be formatted. */
  readonly format: boolean;
  /**
   * It marks the file system as ours, for a later run after an interruption before the disk was
   * mounted.
   */
  readonly label: string;
}

/**
 * An ext4 file system on a disk that the inventory names. It is created only if allowed and if the
 * disk is blank: no signature, no partition, no holder. Nothing else is ever formatted.
 */
export function formattedDisk(device: string, { format, label }: Format): Resource {
  return {
    name: `${device} has a file system`,
    hint: 'see lsblk there, and name the disk in the inventory: docker_root: { disk: … }',
    async check(host) {
      const seen = await readDisk(host, device, label);
      if (seen === undefined) return unknownUntil(`the block device ${device} is there`);
      if (seen.isOurs) return ok;
      return (
        refusalOf(device, seen, format) ??
        drift([{ what: 'file system', was: 'blank', wanted: 'ext4' }], [formatting(device, label)])
      );
    },
  };
}

/** Looks once more: what is on a disk is lost. */
function formatting(device: string, label: string): Step {
  return command({ timeoutSeconds: formatLimit })`
    [ -z "$(wipefs --no-act --noheadings --output TYPE ${device} 2>&1)" ] || { echo ${`${device} is not blank any more`} >&2; exit 1; }
    mkfs.ext4 -q -L ${label} ${device} </dev/null`;
}

interface Contents {
  /** Whether it has the file system that a run made here. */
  readonly isOurs: boolean;
  /** What speaks against a blank disk. */
  readonly found: readonly string[];
}

/**
 * Looks at a disk. Three programs have to agree that it is blank: each knows signatures that the
 * others do not.
 *
 * @returns undefined where there is no such block device
 */
async function readDisk(host: Reader, device: string, label: string): Promise<Contents | undefined> {
  const [isBlock, blkid, wipefs, lsblk] = await Promise.all([
    host.$`test -b ${device}`,
    host.$`blkid -p -o export ${device}`,
    host.$`wipefs --no-act --noheadings --output TYPE ${device}`,
    host.$`lsblk --noheadings --raw --output KNAME,MOUNTPOINT ${device} && d=$(basename "$(readlink -f ${device})") && ls /sys/class/block/"$d"/holders`,
  ]);
  if (!isBlock.ok) return undefined;
  const [itself = '', ...users] = lsblk.lines().map((line) => line.trim());
  const mountPoint = itself.split(' ')[1];
  const probed = blkid.lines().filter((line) => /^(PT)?TYPE=/.test(line));
  // Exit code 2 without a message is blkid's answer for a blank disk. Anything else proves
  // nothing.
  const isProbed = probed.length > 0 || (blkid.exitCode === 2 && blkid.stderr === '');
  const found = [
    ...(mountPoint ? [`mounted at ${mountPoint}`] : []),
    ...probed.map((line) => line.replace(/^.*=/, '')),
    ...wipefs.lines().map((line) => line.trim()),
    ...users.map((user) => `used by ${user}`),
    ...(isProbed ? [] : ['what blkid cannot identify']),
    ...(wipefs.ok && lsblk.ok ? [] : ['what wipefs or lsblk cannot identify']),
  ];
  const isOurs = ['TYPE=ext4', `LABEL=${label}`].every((line) => blkid.lines().includes(line));
  return { isOurs, found: [...new Set(found)] };
}

function refusalOf(device: string, disk: Contents, format: boolean): Verdict | undefined {
  if (disk.found.length > 0) {
    return refused(
      `${device} is not blank (${disk.found.join(', ')}), so it is not formatted`,
      `to use its file system, mount it and name the mount point; to erase it: wipefs --all ${device}`,
    );
  }
  if (format) return undefined;
  return refused(
    `${device} is blank, and the inventory does not allow to format it`,
    'to allow it, set in the inventory: docker_root: { format: true }',
  );
}
