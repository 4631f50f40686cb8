import { expect, test } from 'vitest';
import { loadDeployment } from '../inventory/inventory.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { gatewayFiles } from './render.ts';

async function filesOf(gateway: object, rpc: Readonly<Record<string, object>> = {}) {
  for (const name of ['A', 'B', 'C']) process.env[`PLAIN_RULES_KEY_${name}`] = name.repeat(32);
  const inventory = await labDeployment([
    [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' } }],
    [['vars', 'gateway'], gateway],
    [['vars', 'state_db', 'max_connections'], 2000],
    ...Object.entries(rpc).map(([name, host]) => [['groups', 'rpc', name], host] as const),
  ]);
  const { hosts } = await loadDeployment(inventory);
  const host = hosts.find(({ name }) => name === 'gw-1');
  if (!host) throw new Error('no gateway');
  const { files } = gatewayFiles({ host, vars: host.vars, hosts });
  const [main] = files;
  const rules = String(main?.content)
    .split('\n')
    .filter((line) => /txn.(most|plain)\) /.test(line) && line.includes('is_one'));
  const requests = files.find(({ path }) => path.endsWith('/requests.map'))?.content;
  return { rules: rules.map((line) => line.trim()), requests };
}

test('without rules of the operator each call of the usual form is plain', async () => {
  expect(await filesOf({})).toEqual({
    rules: [
      'http-request set-var(txn.most) int(10000) if is_one',
      'http-request set-var(txn.plain) bool(true) if is_one { var(txn.most) -m found }',
    ],
    requests: undefined,
  });
});

test('a call of a method with a rule of its own is not plain, in any case of letters', async () => {
  const methods = {
    allow: ['eth_*', 'debug_*'],
    deny: ['eth_sign'],
    limits: { eth_getLogs: 5 },
    heavy: ['debug_*'],
  };
  const rpc = { 'rpc-9': { address: '10.0.0.9', vars: { methods: 'heavy' } } };
  const [, plain = ''] = (await filesOf({ methods }, rpc)).rules;
  expect(plain).toContain('{ var(txn.method) -m reg -i ^(eth_.*|debug_.*)$ }');
  expect(plain).toContain('!{ var(txn.method) -m reg -i ^(eth_sign|debug_.*|eth_getlogs)$ }');
});

test('a key has its own limit, and one with methods of its own has no plain call', async () => {
  const key = (name: string) => ({ key: `env:PLAIN_RULES_KEY_${name}` });
  const keys = {
    alice: { ...key('A'), requests: 7 },
    bob: key('B'),
    carol: { ...key('C'), methods: { deny: ['eth_call'] } },
  };
  const { rules, requests } = await filesOf({ keys });
  expect(rules.slice(0, 2)).toEqual([
    'http-request set-var(txn.most) int(10000) if is_one !{ var(txn.key) -m found }',
    'http-request set-var(txn.most) var(txn.key),map_str_int(requests.map) if is_one { var(txn.key) -m found }',
  ]);
  expect(requests).toBe('alice 7\nbob 10000\n');
});
