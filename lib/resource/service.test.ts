import { expect, test } from 'vitest';
import { service } from './service.ts';

test('the name tells the unit and what is wanted of it', () => {
  expect(service('chrony').enabled().running().name).toBe('chrony.service is enabled and running');
  expect(service('fstrim.timer').enabled().name).toBe('fstrim.timer is enabled');
  expect(service('getty@tty1').running().restartedAfter('/x').name).toBe('getty@tty1.service is running');
});

test('a modifier returns a new value', () => {
  const plain = service('x');
  plain.enabled();
  expect(plain.name).toBe('x.service');
});
