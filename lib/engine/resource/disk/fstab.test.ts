import { expect, test } from 'vitest';
import { parseFstabLine } from '../../host/facts/fstab.ts';
import { fstabLine, sameEntry, withEntry } from './fstab.ts';

const entry = { source: 'UUID=abcd', target: '/data', type: 'ext4', options: ['defaults', 'nofail'] };
const ours = 'UUID=abcd /data ext4 defaults,nofail 0 2';

test('a line is parsed into its fields', () => {
  expect(fstabLine(entry)).toBe(ours);
  expect(parseFstabLine(ours)).toEqual(entry);
  const odd = { ...entry, target: '/my data\\#1' };
  expect(fstabLine(odd)).toContain('/my\\040data\\134\\0431');
  expect(parseFstabLine(fstabLine(odd))).toEqual(odd);
});

test.each(['', '   ', '# UUID=abcd /data ext4 defaults 0 2', '\t#x', 'one', 'two words'])(
  '%j is not an entry',
  (line) => {
    expect(parseFstabLine(line)).toBeUndefined();
  },
);

test('tabs, missing options and surplus fields are read', () => {
  expect(parseFstabLine('\tLABEL=x\t/y\txfs')).toEqual({
    source: 'LABEL=x',
    target: '/y',
    type: 'xfs',
    options: ['defaults'],
  });
  expect(parseFstabLine('/dev/sda1 / ext4 ro,noatime 0 1 # root')?.options).toEqual(['ro', 'noatime']);
});

test('the order of options does not matter, but each option does', () => {
  expect(sameEntry(entry, { ...entry, options: ['nofail', 'defaults'] })).toBe(true);
  expect(sameEntry(entry, { ...entry, options: ['defaults'] })).toBe(false);
  expect(sameEntry(entry, { ...entry, type: 'xfs' })).toBe(false);
});

const table =
  '# <file system>\t<mount point>\n/dev/sda1   /  ext4\terrors=remount-ro 0 1\n\n#/dev/x /data ext4\nUUID=9  none swap sw 0 0';

test('a new entry is appended, the other lines stay byte for byte', () => {
  expect(withEntry(table, entry)).toBe(`${table}\n${ours}\n`);
  expect(withEntry('', entry)).toBe(`${ours}\n`);
  expect(withEntry(`${table}\n`, entry)).toBe(`${table}\n${ours}\n`);
});

test('the line of the same target is replaced in its place', () => {
  const old = `a /a ext4 defaults 0 2\n/dev/sdb1 /data ext4 defaults 0 2\nb /b ext4 defaults 0 2\n`;
  expect(withEntry(old, entry)).toBe(`a /a ext4 defaults 0 2\n${ours}\nb /b ext4 defaults 0 2\n`);
  expect(withEntry(withEntry(table, entry), entry)).toBe(withEntry(table, entry));
});
