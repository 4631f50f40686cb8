import { expect, test } from 'vitest';
import { isLoopback, notOneHost, usualAddress } from './address.ts';

test.each([
  '127.0.0.1',
  '127.8.9.1',
  '127.1',
  '0x7f.1',
  '0x7f000001',
  '2130706433',
  '0177.0.0.1',
  '::1',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
  '::FFFF:7F00:1',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'localhost.localdomain',
  'db.localhost',
  'ip6-localhost',
])('%s is an address that only the host itself reaches', (address) => {
  expect(isLoopback(address)).toBe(true);
});

test.each([
  '10.0.0.1',
  '128.0.0.1',
  'fd00::1',
  '::ffff:10.0.0.1',
  'db-1',
  'localhost.example.org',
  '127.example.org',
])('%s is one that others reach', (address) => {
  expect(isLoopback(address)).toBe(false);
  expect(notOneHost(address)).toBeUndefined();
});

test.each([
  ['0.0.0.0', 'the address of every interface'],
  ['::', 'the address of every interface'],
  ['0:0::0', 'the address of every interface'],
  ['::ffff:0.0.0.0', 'the address of every interface'],
  ['255.255.255.255', 'a broadcast address, or a reserved one'],
  ['240.0.0.1', 'a broadcast address, or a reserved one'],
  ['224.0.0.1', 'a multicast address'],
  ['ff02::1', 'a multicast address'],
  ['FE80::1', 'a link-local address, which has a meaning on one interface only'],
])('%s is %s', (address, is) => {
  expect(notOneHost(address)).toBe(is);
});

test('an IPv4 address in the notation of IPv6 has a usual one', () => {
  expect(usualAddress('::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(usualAddress('::ffff:255.255.255.255')).toBe('255.255.255.255');
});
