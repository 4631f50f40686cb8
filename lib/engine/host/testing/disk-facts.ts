import type { BlockDevice, Mount } from '../facts/facts.ts';

/**
 * The mount of a whole ext4 file system on a device of the same name everywhere. Sizes in bytes.
 */
export function aMount(target: string, more: Partial<Mount> = {}): Mount {
  const source = more.source ?? `/dev/disk${target.replaceAll('/', '-')}`;
  return {
    target,
    source,
    type: 'ext4',
    options: ['rw', 'relatime'],
    size: 100e9,
    available: 50e9,
    root: '/',
    // One for each device.
    number: `8:${source}`,
    saysDataLoss: false,
    ...more,
  };
}

/** A disk that nothing uses. */
export function aDevice(path: string, more: Partial<BlockDevice> = {}): BlockDevice {
  return {
    path,
    size: 100e9,
    type: 'disk',
    rotational: false,
    transport: path.startsWith('/dev/nvme') ? 'nvme' : 'sata',
    signature: '',
    mountpoints: [],
    parents: [],
    number: `8:${path}`,
    model: '',
    uuid: '',
    label: '',
    removable: false,
    sysfs: '',
    links: [],
    backingFile: undefined,
    ...more,
  };
}
