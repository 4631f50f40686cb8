import { expect, test } from 'vitest';
import gatewayAddress from '../../../roles/gateway-address.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf, refusal } from '../testing/role-context.ts';

const settings = '/etc/keepalived/keepalived.conf';

async function resources(shared: object | undefined) {
  const gateways = { 'gw-1': { address: '10.0.0.1' }, 'gw-2': { address: '10.0.0.2' } };
  const context = await contextOf({
    group: 'gateway',
    changes: [
      [['groups', 'gateway'], gateways],
      [['vars', 'gateway'], { shared }],
    ],
  });
  return gatewayAddress.resources(context);
}

test('a configuration of keepalived that somebody else made stays', async () => {
  const host = fakeHost([], { read: async () => Buffer.from('vrrp_instance mine {}\n') });
  const name = `${settings} is not somebody else's`;
  const all = await resources({ address: '10.0.0.9/24', interface: 'eth0' });
  expect(await refusal(all, name, host)).toEqual([
    `${name}: it was not written by this tool`,
    `remove gateway.shared from the inventory, or move the file: mv ${settings} ${settings}.old`,
  ]);
  expect(await all[0]?.check(fakeHost([], { read: async () => undefined }))).toEqual({ is: 'ok' });
});

test('without a shared address there is no keepalived', async () => {
  expect(await resources(undefined)).toEqual([]);
});
