import type { BlockDevice } from './facts.ts';

/**
 * What lsblk says, and after it what blkid finds on each device. lsblk has its signatures from udev and shows none where that
 * does not run, which must not pass for a blank disk; so the devices themselves are looked at. Exit code 2 says that nothing
 * was found, and with an error before it, that nothing could be read.
 */
export const blockDevicesCommand = `lsblk -J -b -o KNAME,PATH,SIZE,TYPE,ROTA,TRAN,FSTYPE,MOUNTPOINT,PKNAME 2>/dev/null||echo '{"blockdevices":[]}'
echo
for __x in /sys/class/block/*;do
read -r __y <"$__x/size"||continue
[ "$__y" -gt 0 ]||continue
__x=\${__x##*/}
case "$__x" in ram*|zram*|fd*|sr*)continue;;esac
__f=/dev/$(printf %s "$__x"|tr '!' /)
[ -b "$__f" ]||continue
blkid -p -s TYPE -s PTTYPE -o export "$__f" 2>&1
echo "probed $? $__x"
done
exit 0`;

/** What is told of a device that could not be looked at: never blank. */
const notLookedAt = 'unknown';

/** lsblk's own form; older ones give numbers and truth values as text. */
interface Listed {
  readonly kname?: string | null;
  readonly path?: string | null;
  readonly size?: string | number | null;
  readonly type?: string | null;
  readonly rota?: string | boolean | null;
  readonly tran?: string | null;
  readonly fstype?: string | null;
  readonly mountpoint?: string | null;
  readonly pkname?: string | null;
  readonly children?: readonly Listed[];
}

/** @param text what the command printed. A device with several parents (RAID) is listed once. */
export function parseBlockDevices(text: string): BlockDevice[] {
  const gap = text.indexOf('\n\n');
  const probed = parseProbed(gap < 0 ? '' : text.slice(gap));
  const listed = parseListed(gap < 0 ? text : text.slice(0, gap));
  const devices = new Map<string, BlockDevice>();
  const paths = new Map(flatten(listed).map((device) => [device.kname, pathOf(device)]));
  for (const device of flatten(listed)) {
    const path = pathOf(device);
    // An unused loop or compressed-memory device has no size.
    if (devices.has(path) || Number(device.size ?? 0) === 0) continue;
    devices.set(path, {
      path,
      size: Number(device.size ?? 0),
      type: device.type ?? '',
      rotational: device.rota === true || device.rota === '1',
      transport: device.tran ?? '',
      signature: device.fstype || (probed.get(device.kname ?? '') ?? notLookedAt),
      mountpoints: device.mountpoint ? [device.mountpoint] : [],
      parent: device.pkname ? (paths.get(device.pkname) ?? `/dev/${device.pkname}`) : undefined,
    });
  }
  return [...devices.values()];
}

function flatten(devices: readonly Listed[]): Listed[] {
  return devices.flatMap((device) => [device, ...flatten(device.children ?? [])]);
}

function pathOf({ path, kname }: Listed): string {
  return path ?? `/dev/${kname ?? ''}`;
}

function parseListed(text: string): readonly Listed[] {
  try {
    return (JSON.parse(text) as { blockdevices?: readonly Listed[] }).blockdevices ?? [];
  } catch {
    return [];
  }
}

/** The signature of each device by its kernel name. */
function parseProbed(text: string): Map<string, string> {
  const signatures = new Map<string, string>();
  let found = '';
  for (const line of text.split('\n')) {
    const [, value] = /^(?:PT)?TYPE=(.*)$/.exec(line) ?? [];
    if (value !== undefined) found ||= value;
    if (line.startsWith('blkid: ')) found ||= notLookedAt;
    const [, code, name] = /^probed (\d+) (.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    signatures.set(name, found || (code === '2' ? '' : notLookedAt));
    found = '';
  }
  return signatures;
}
