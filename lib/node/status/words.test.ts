import { expect, test } from 'vitest';
import type { ServiceState } from './read.ts';
import { offset, serviceWords } from './words.ts';

test.each([
  ['running', 'up 4.0 s'],
  ['exited', 'exited with 2, 4.0 s ago'],
  ['restarting', 'restarting after exit with 2, 4.0 s ago'],
  ['paused', 'paused, 4.0 s ago'],
])('a container that is %s is "%s"', (status, words) => {
  expect(serviceWords({ status, exitCode: 2, since: 6 } as ServiceState, 10)).toBe(words);
});

test.each([
  [0.0000123, '12 µs ahead of'],
  [-0.0123, '12 ms behind'],
  [3.24, '3.2 s ahead of'],
])('a clock that is %f s off is %s', (value, words) => {
  expect(offset(value)).toBe(words);
});
