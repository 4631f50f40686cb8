import { expect, test } from 'vitest';
import { bytes, progressText, seconds } from './units.ts';

test.each([
  [0.04, '0.0 s'],
  [9.9, '9.9 s'],
  [119.6, '120 s'],
  [200, '3 min 20 s'],
  [7199.9, '2 h 00 min'],
  [7500, '2 h 05 min'],
])('%f seconds are %s', (value, text) => expect(seconds(value)).toBe(text));

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [1.5 * 2 ** 40, '1.5 TiB'],
  [2 ** 50, '1024.0 TiB'],
])('%f bytes are %s', (value, text) => expect(bytes(value)).toBe(text));

test('progress tells what it knows and no more', () => {
  expect(progressText({ what: 'waiting' }, undefined)).toBe('waiting');
  expect(progressText({ what: 'copied', done: 5, unit: 'rows' }, undefined)).toBe('copied 5 rows');
  expect(progressText({ what: 'downloaded', done: 1024, total: 4096, unit: 'bytes' }, 512)).toBe(
    'downloaded 1.0 KiB of 4.0 KiB (25%), 512 B/s, 6.0 s left',
  );
});
