import { expect, test } from 'vitest';
import { packages } from './packages.ts';

test('the name tells the packages', () => {
  expect(packages('chrony', 'g++', 'libc6.1').name).toBe('packages chrony, g++, libc6.1');
});

test.each(['-y', 'a b', 'UPPER', 'x=1.0', '', '$(id)'])('%j is refused as a package', (name) => {
  expect(() => packages(name)).toThrow('no name of a package');
});
