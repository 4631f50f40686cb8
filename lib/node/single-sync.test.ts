import { expect, test } from 'vitest';
import { isInNetworkOf } from './single-sync.ts';

const container = {
  raw: { NetworkSettings: { Networks: { rpc_node: { IPAddress: '172.18.0.2', IPPrefixLen: 16 } } } },
};

test.each([
  ['172.18.255.9', true],
  ['172.19.0.2', false],
  ['127.0.0.1', true],
  ['203.0.113.4', false],
  ['2001:db8::1', false],
])('%s is in the network of a container of 172.18.0.0/16: %s', (address, is) => {
  expect(isInNetworkOf(container, address)).toBe(is);
});

test('without a container nothing is in its network', () => {
  expect(isInNetworkOf(undefined, '172.18.0.2')).toBe(false);
});
