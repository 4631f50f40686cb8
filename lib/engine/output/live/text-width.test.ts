import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cut, fitted, widthOf } from './text-width.ts';

test.each([
  ['', 0],
  ['rpc-1', 5],
  ['größe', 5],
  ['e\u0301', 1],
  ['数据库', 6],
  ['データ', 6],
  ['서버', 4],
  ['ＡＢ', 4],
  ['🚀', 2],
  ['❤️', 2],
  ['🇩🇪', 2],
  ['…', 1],
])('%j takes %i columns', (text, width) => expect(widthOf(text)).toBe(width));

test('what is cut never takes more room than there is, and half a character never stays', () => {
  expect(cut('数据库', 5)).toBe('数据…');
  expect(cut('数据库', 4)).toBe('数…');
  expect(cut('数据库', 6)).toBe('数据库');
  expect(cut('abc', 0)).toBe('');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, width) => widthOf(cut(text, width)) <= width),
  );
});

test('a column is as wide as it should be', () => {
  expect(fitted('db', 4)).toBe('db  ');
  expect(fitted('数据库', 5)).toBe('数据…');
  expect(fitted('数据库', 4)).toBe('数… ');
});
