import { expect, test } from 'vitest';
import { loadDeployment } from '../inventory/inventory.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { gatewayFiles } from './render.ts';

test('a gateway has the hash of a key and its name, and nothing of it is shown', async () => {
  const key = 'k'.repeat(32);
  process.env.GATEWAY_KEY = key;
  const inventory = await labDeployment([
    [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' } }],
    [['vars', 'gateway'], { keys: { alice: { key: 'env:GATEWAY_KEY' } } }],
  ]);
  const { hosts } = await loadDeployment(inventory);
  expect(JSON.stringify(hosts)).not.toContain(key);
  const host = hosts.find(({ name }) => name === 'gw-1');
  if (!host) throw new Error('no gateway');
  const { files } = gatewayFiles({ host, vars: host.vars, hosts });
  const texts = files.map(({ content }) => (typeof content === 'string' ? content : content.text));
  expect(texts.join('')).not.toContain(key);
  const map = files.find(({ path }) => path === '/etc/rpc-node/gateway/keys.map')?.content;
  expect(typeof map === 'object' && [map.text, map.mask(map.text)]).toEqual([
    expect.stringMatching(/^[0-9a-f]{64} alice\n$/),
    '[secret]\n',
  ]);
});
