import { expect, test } from 'vitest';
import { quoteForUnit, schedule } from './schedule.ts';

test('a shell line is one word of a unit, with nothing left for systemd to read', () => {
  expect(quoteForUnit('/bin/x --at "a b"')).toBe('"/bin/x --at \\"a b\\""');
  expect(quoteForUnit('date +%s > $HOME/\\n')).toBe('"date +%%s > $$HOME/\\\\n"');
  expect(() => quoteForUnit('a\nb')).toThrow('one line');
});

test('a name that is no unit is refused', () => {
  expect(() => schedule('../x')).toThrow('not a name');
  expect(() => schedule('-x')).toThrow('not a name');
});
