import { expect, test } from 'vitest';
import { parseIpNetwork } from './ip-network.ts';

test.each([
  ['10.1.2.3', 4, '10.1.2.3/32'],
  ['10.1.2.3/8', 4, '10.0.0.0/8'],
  ['255.255.255.255/31', 4, '255.255.255.254/31'],
  ['0.0.0.0/0', 4, '0.0.0.0/0'],
  ['192.168.1.1/0', 4, '0.0.0.0/0'],
  ['::1', 6, '::1/128'],
  ['::/0', 6, '::/0'],
  ['FD00:0:0:0:1::2', 6, 'fd00::1:0:0:2/128'],
  ['2001:db8:ffff::1/33', 6, '2001:db8:8000::/33'],
  ['1:2:3:4:5:6:7:8', 6, '1:2:3:4:5:6:7:8/128'],
  ['::', 6, '::/128'],
])('%s is %i %s', (given, family, text) => {
  expect(parseIpNetwork(given)).toEqual({ family, text, everything: text.endsWith('/0') });
});

test.each([
  '',
  'rpc-1',
  '10.1',
  '10.0.0.1/33',
  '::/129',
  '10.0.0.1/',
  '10.0.0.1/8/8',
  'fe80::1%eth0',
  '-s',
  '[::1]',
  '1.2.3.4 ',
])('"%s" is neither an address nor a network', (text) => {
  expect(parseIpNetwork(text)).toBeUndefined();
});
