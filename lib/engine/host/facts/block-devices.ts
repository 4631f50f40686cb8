import * as z from 'zod';
import { parseJson } from '../../text/parse-json.ts';
import { readScript } from '../script.ts';
import type { BlockDevice } from './facts.ts';

export const blockDevicesCommand = readScript(new URL('block-devices.sh', import.meta.url));

/** The signature of a device that could not be read: it must not pass for blank. */
const unreadable = 'unknown';

const text = z.string().nullish().catch(undefined);

/** A device of lsblk; older versions print numbers and booleans as text. A value of another type counts as missing. */
const listed = z.object({
  kname: text,
  path: text,
  size: z.union([z.number(), z.string()]).nullish().catch(undefined),
  type: text,
  rota: z.union([z.boolean(), z.string()]).nullish().catch(undefined),
  tran: text,
  fstype: text,
  mountpoint: text,
  pkname: text,
  children: z.array(z.unknown()).optional().catch(undefined),
});
type Listed = z.output<typeof listed>;

const output = z.object({ blockdevices: z.array(z.unknown()) });

/** Partitions on volumes on arrays on partitions: no host has so many levels. */
const deepest = 16;

/** @param text output of the command. A device with several parents (RAID) is listed once. */
export function parseBlockDevices(text: string): BlockDevice[] {
  const gap = text.indexOf('\n\n');
  const probed = parseProbed(gap < 0 ? '' : text.slice(gap));
  const document = output.safeParse(parseJson(gap < 0 ? text : text.slice(0, gap)));
  const all = flatten(document.data?.blockdevices ?? []);
  const devices = new Map<string, BlockDevice>();
  const paths = new Map(all.map((device) => [device.kname, pathOf(device)]));
  for (const device of all) {
    const path = pathOf(device);
    const size = Number(device.size ?? 0);
    // An unused loop or compressed-memory device has no size.
    if (devices.has(path) || !(size > 0)) continue;
    devices.set(path, {
      path,
      size,
      type: device.type ?? '',
      rotational: device.rota === true || device.rota === '1',
      transport: device.tran ?? '',
      signature: device.fstype || (probed.get(device.kname ?? '') ?? unreadable),
      mountpoints: device.mountpoint ? [device.mountpoint] : [],
      parent: device.pkname ? (paths.get(device.pkname) ?? `/dev/${device.pkname}`) : undefined,
    });
  }
  return [...devices.values()];
}

function flatten(devices: readonly unknown[], depth = 0): Listed[] {
  return devices.flatMap((each) => {
    const { data } = listed.safeParse(each);
    return data ? [data, ...(depth < deepest ? flatten(data.children ?? [], depth + 1) : [])] : [];
  });
}

function pathOf({ path, kname }: Listed): string {
  return path ?? `/dev/${kname ?? ''}`;
}

/** The signature of each device by its kernel name. */
function parseProbed(text: string): Map<string, string> {
  const signatures = new Map<string, string>();
  let found = '';
  for (const line of text.split('\n')) {
    const [, value] = /^(?:PT)?TYPE=(.*)$/.exec(line) ?? [];
    if (value !== undefined) found ||= value;
    if (line.startsWith('blkid: ')) found ||= unreadable;
    const [, code, name] = /^probed (\d+) (.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    signatures.set(name, found || (code === '2' ? '' : unreadable));
    found = '';
  }
  return signatures;
}
