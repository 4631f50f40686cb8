import { expect, test } from 'vitest';
import { timezone } from './timezone.ts';

test.each(['Etc/UTC', 'UTC', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])('%s is a name', (zone) => {
  expect(timezone(zone).name).toBe(`time zone is ${zone}`);
});

test.each(['', '../../etc/passwd', '/etc/passwd', 'a b', 'Etc/'])('%j is refused', (zone) => {
  expect(() => timezone(zone)).toThrow('no name of a time zone');
});
