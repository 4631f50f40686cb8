import { expect, test } from 'vitest';
import type { Facts } from '../../engine/host/facts/facts.ts';
import { hardwareFindings } from './hardware.ts';

// 128 GiB less what the kernel keeps.
const enough = {
  cpu: { count: 64, mhz: 3050, model: '', flags: [] },
  memory: 134_800_000_000,
} satisfies Partial<Facts>;

function unmet(facts: Pick<Facts, 'cpu' | 'memory'>): string[] {
  return hardwareFindings(facts).flatMap(({ met, wanted, seen }) => (met ? [] : [`${wanted}: ${seen}`]));
}

test('a server as the table has it meets all of it', () => {
  expect(unmet(enough)).toEqual([]);
});

test('each line of the table is judged on its own', () => {
  expect(unmet({ ...enough, cpu: { ...enough.cpu, count: 63 } })).toEqual(['64 CPU cores: 63']);
  expect(unmet({ ...enough, cpu: { ...enough.cpu, mhz: 2999.6 } })).toEqual([
    'CPU cores of 3050 MHz: 3000 MHz',
  ]);
  expect(unmet({ ...enough, memory: 67_000_000_000 })).toEqual(['128 GB of memory: 67 GB']);
});

test('sizes are shown in decimal gigabytes', () => {
  const memory = (bytes: number) => hardwareFindings({ ...enough, memory: bytes })[2]?.seen;
  expect(memory(1.26e9)).toBe('1.3 GB');
  expect(memory(134_999_999_999)).toBe('134 GB');
});
