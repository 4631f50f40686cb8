import fc from 'fast-check';
import stringWidth from 'fast-string-width';
import { expect, test } from 'vitest';
import { cut, fitted } from './text-width.ts';

test('a cut text never exceeds its room, and no half character stays', () => {
  expect(cut('数据库', 5)).toBe('数据…');
  expect(cut('数据库', 4)).toBe('数…');
  expect(cut('数据库', 6)).toBe('数据库');
  expect(cut('abc', 0)).toBe('');
  // A combining accent has no width, and an emoji of several characters has the width of one.
  expect(cut('e\u0301❤️🇩🇪🚀', 6)).toBe('e\u0301❤️🇩🇪…');
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.nat(30),
      (text, width) => stringWidth(cut(text, width)) <= width,
    ),
  );
});

test('a column has the requested width', () => {
  expect(fitted('db', 4)).toBe('db  ');
  expect(fitted('数据库', 5)).toBe('数据…');
  expect(fitted('数据库', 4)).toBe('数… ');
});
