import { expect, test } from 'vitest';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { isInNetworkOf, noForeignSynchronizer } from './single-sync.ts';

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

test('a stranger at the state database is named, with what to do', async () => {
  const host = fakeHost([[/^getent/, '']], {
    container: async () => ({ ...runningContainer, ...container }),
    sql: async () => ({ ok: true, rows: [['203.0.113.4'], ['10.0.0.1'], ['172.18.0.5']] }),
  });
  const alone = noForeignSynchronizer({ container: 'state-db', user: 'u', database: 'd' }, ['10.0.0.1']);
  await expect(alone.apply(host)).rejects.toMatchObject({
    message:
      'no other synchronizer uses the state database: a node on 203.0.113.4 is connected to it, and that is no host of this inventory',
    hint: expect.stringMatching(
      /^stop the node there, .* docker exec state-db psql -U u -d d -c "select pg_terminate_backend\(pid\) from pg_stat_activity where client_addr = 'ADDRESS'"$/,
    ),
  });
});

test.each([
  null,
  5,
  { NetworkSettings: null },
  { NetworkSettings: { Networks: { a: null, b: 5, c: { IPAddress: 5 } } } },
])('a document of another form, %j, has no network', (raw) => expect(isInNetworkOf({ raw }, '172.18.0.2')).toBe(false));
