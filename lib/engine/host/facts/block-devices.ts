import * as z from 'zod';
import { parseJson } from '../../text/parse-json.ts';
import { readScript } from '../script.ts';
import type { BlockDevice } from './facts.ts';

export const blockDevicesCommand = readScript(new URL('block-devices.sh', import.meta.url));

/** The signature of a device that could not be read: it must not pass for blank. */
const unreadable = 'unknown';

const text = z.string().nullish().catch(undefined);

/**
 * A device of lsblk; older versions print numbers and booleans as text. A value of another type
 * counts as missing.
 */
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
  'maj:min': text,
  model: text,
  label: text,
  uuid: text,
  rm: z.union([z.boolean(), z.string()]).nullish().catch(undefined),
  children: z.array(z.unknown()).optional().catch(undefined),
});
type Listed = z.output<typeof listed>;

const output = z.object({ blockdevices: z.array(z.unknown()) });

/** Partitions on volumes on arrays on partitions: no host has so many levels. */
const deepest = 16;

/**
 * @param text output of the command. A device with several parents (RAID) is listed once, with all
 * of them.
 */
export function parseBlockDevices(text: string): BlockDevice[] {
  const gap = text.indexOf('\n\n');
  const probed = parseProbed(gap < 0 ? '' : text.slice(gap));
  const document = output.safeParse(parseJson(gap < 0 ? text : text.slice(0, gap)));
  const all = flatten(document.data?.blockdevices ?? []);
  const devices = new Map<string, BlockDevice>();
  const paths = new Map(all.map((device) => [device.kname, pathOf(device)]));
  const pathOfName = (name: string) => paths.get(name) ?? `/dev/${name}`;
  for (const device of all) {
    const path = pathOf(device);
    const size = Number(device.size ?? 0);
    const found = probed.get(device.kname ?? '');
    const above = [...(device.pkname ? [device.pkname] : []), ...(found?.below ?? [])].map(pathOfName);
    const known = devices.get(path);
    // An unused loop or compressed-memory device has no size.
    if (!(size > 0)) continue;
    devices.set(path, {
      path,
      size,
      type: device.type ?? '',
      rotational: isSet(device.rota),
      transport: device.tran ?? '',
      signature: device.fstype || (found?.signature ?? unreadable),
      mountpoints: device.mountpoint ? [device.mountpoint] : [],
      number: device['maj:min']?.trim() ?? '',
      model: device.model?.trim() ?? '',
      uuid: device.uuid || (found?.uuid ?? ''),
      label: device.label || (found?.label ?? ''),
      removable: isSet(device.rm),
      sysfs: found?.sysfs ?? '',
      links: found?.links ?? [],
      backingFile: found?.backingFile,
      ...known,
      parents: [...new Set([...(known?.parents ?? []), ...above])],
    });
  }
  return [...devices.values()];
}

/** Older versions print a boolean as text. */
function isSet(value: boolean | string | null | undefined): boolean {
  return value === true || value === '1';
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

/** What the script says of a device besides lsblk. */
interface Probed {
  signature: string | undefined;
  uuid: string;
  label: string;
  sysfs: string;
  backingFile: string | undefined;
  readonly below: string[];
  readonly links: string[];
}

/** By the kernel's name of the device. */
function parseProbed(text: string): Map<string, Probed> {
  const devices = new Map<string, Probed>();
  const of = (name: string) => {
    const known = devices.get(name) ?? {
      signature: undefined,
      uuid: '',
      label: '',
      sysfs: '',
      backingFile: undefined,
      below: [],
      links: [],
    };
    devices.set(name, known);
    return known;
  };
  let [found, uuid, label] = ['', '', ''];
  for (const line of text.split('\n')) {
    const [, key, value = ''] = /^(TYPE|PTTYPE|UUID|LABEL)=(.*)$/.exec(line) ?? [];
    if (key === 'UUID') uuid = value;
    else if (key === 'LABEL') label = value;
    else if (key !== undefined) found ||= value;
    if (line.startsWith('blkid: ')) found ||= unreadable;
    const [, word, first = '', rest = ''] = /^(probed|below|backing|sysfs|link) (\S+) (.*)$/.exec(line) ?? [];
    if (word === 'below') of(first).below.push(rest);
    if (word === 'backing') of(first).backingFile = rest;
    if (word === 'sysfs') of(first).sysfs = rest;
    if (word === 'link') of(first).links.push(rest);
    if (word !== 'probed') continue;
    Object.assign(of(rest), { signature: found || (first === '2' ? '' : unreadable), uuid, label });
    [found, uuid, label] = ['', '', ''];
  }
  return devices;
}
