import { expect, test } from 'vitest';
import { goVersion, isAtLeast } from './restore-tool.ts';

test.each([
  ['go version go1.19.8 linux/amd64', '1.19.8'],
  ['go version go1.21 linux/amd64', '1.21'],
  ['go version devel go1.23-abcdef linux/arm64', '1.23'],
  ['', undefined],
])('%s', (output, version) => {
  expect(goVersion(output)).toBe(version);
});

test('versions are compared as numbers', () => {
  expect(isAtLeast('1.21', '1.21')).toBe(true);
  expect(isAtLeast('1.21.3', '1.9')).toBe(true);
  expect(isAtLeast('1.9', '1.21')).toBe(false);
  expect(isAtLeast('2.0', '1.21')).toBe(true);
});
