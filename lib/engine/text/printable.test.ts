import { expect, test } from 'vitest';
import { printable, readable } from './printable.ts';

test.each([
  ['\u001b]0;title\u0007\u001b[2Jred', '\\x1b]0;title\\x07\\x1b[2Jred'],
  ['a\rb\b\u0000\u007f\u009b5m', 'a\\x0db\\x08\\x00\\x7f\\x9b5m'],
  ['right \u202eto left', 'right \\u202eto left'],
  ['one\r\ntwo\n\tthree', 'one\ntwo\n\tthree'],
  ['hünter 世界 🙂', 'hünter 世界 🙂'],
])('%j is shown as %j', (text, shown) => expect(printable(text)).toBe(shown));

test('the end of a very long line is left out', () => {
  const [line = '', next] = readable(`${'x'.repeat(1e6)}\nnext`).split('\n');
  expect(line.length).toBe(2001);
  expect(next).toBe('next');
});
