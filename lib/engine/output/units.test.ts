import { expect, test } from 'vitest';
import { bar, bytes, clock, progressText, seconds } from './units.ts';

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

test.each([
  [0, '0:00'],
  [59.9, '0:59'],
  [200, '3:20'],
  [43_505, '12:05:05'],
])('as a clock time %f seconds are %s', (value, text) => expect(clock(value)).toBe(text));

test('a bar fills in proportion to the work, and never overflows', () => {
  expect(bar(0, 12)).toBe('[..........]');
  expect(bar(0.55, 12)).toBe('[#####.....]');
  expect(bar(1.5, 12)).toBe('[##########]');
});

test('progress shows only known values', () => {
  expect(progressText({ what: 'waiting' })).toBe('waiting');
  expect(progressText({ what: 'copied', done: 5, unit: 'rows' })).toBe('copied 5 rows');
  expect(
    progressText(
      { what: 'downloaded', done: 1024, total: 4096, unit: 'bytes' },
      { perSecond: 512, secondsLeft: 6 },
    ),
  ).toBe('downloaded 1.0 KiB of 4.0 KiB (25%), 512 B/s, 6 s left');
});

test('progress in time has no pace and no time left', () => {
  const progress = { what: 'waiting for apt', done: 4, total: 60, unit: 'seconds' } as const;
  expect(progressText(progress, { perSecond: 1, secondsLeft: 56 })).toBe('waiting for apt 4.0 s of 60 s');
});
