import { expect, test } from 'vitest';
import type { BlockDevice, Facts } from '../../engine/host/facts/facts.ts';
import { hardwareFindings } from './hardware.ts';

const nvme: BlockDevice = {
  path: '/dev/nvme0n1',
  size: 2000398934016,
  type: 'disk',
  rotational: false,
  transport: 'nvme',
  signature: '',
  mountpoints: [],
  parent: undefined,
};

// 128 GiB less what the kernel keeps.
const enough = {
  cpu: { count: 64, mhz: 3050, model: '', flags: [] },
  memory: 134_800_000_000,
  blockDevices: [nvme],
} satisfies Partial<Facts>;

function unmet(facts: Pick<Facts, 'cpu' | 'memory' | 'blockDevices'>): string[] {
  return hardwareFindings(facts).flatMap(({ met, wanted, seen }) => (met ? [] : [`${wanted}: ${seen}`]));
}

test('a server as the table has it meets all of it', () => {
  expect(unmet(enough)).toEqual([]);
});

test('each line of the table is judged on its own', () => {
  expect(unmet({ ...enough, cpu: { ...enough.cpu, count: 63 } })).toEqual(['64 CPU cores: 63']);
  expect(unmet({ ...enough, cpu: { ...enough.cpu, mhz: 2999.6 } })).toEqual(['CPU cores of 3050 MHz: 3000 MHz']);
  expect(unmet({ ...enough, memory: 67_000_000_000 })).toEqual(['128 GB of memory: 67 GB']);
  expect(unmet({ ...enough, blockDevices: [{ ...nvme, size: 1_000_204_886_016 }] })).toEqual([
    'an NVMe disk of 2000 GB: /dev/nvme0n1 with 1000 GB',
  ]);
});

test('a large disk that is not NVMe does not count', () => {
  const spinning = { ...nvme, path: '/dev/sda', transport: 'sata', rotational: true };
  expect(unmet({ ...enough, blockDevices: [spinning] })).toEqual(['an NVMe disk of 2000 GB: no NVMe disk']);
});

test('an array on NVMe disks counts as one disk', () => {
  const small = { ...nvme, size: 1_000_204_886_016 };
  const array: BlockDevice = { ...nvme, path: '/dev/md0', type: 'raid0', transport: '', parent: small.path };
  expect(unmet({ ...enough, blockDevices: [small, array] })).toEqual([]);
});

test('a device that names itself as its parent does not hang the check', () => {
  const loop = { ...nvme, path: '/dev/sdb', transport: '', parent: '/dev/sdb' };
  expect(unmet({ ...enough, blockDevices: [loop] })).toHaveLength(1);
});

test('sizes are shown in decimal gigabytes', () => {
  const memory = (bytes: number) => hardwareFindings({ ...enough, memory: bytes })[2]?.seen;
  expect(memory(1.26e9)).toBe('1.3 GB');
  expect(memory(134_999_999_999)).toBe('134 GB');
});
