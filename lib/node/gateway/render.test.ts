import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadDeployment } from '../inventory/inventory.ts';
import { accesses } from '../server/firewall.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { gatewayFiles, sharedAddressFile } from './render.ts';

async function contexts(changes: Changes = []) {
  const given: Changes = [
    [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' }, 'gw-2': { address: 'fd00::2' } }],
    ...changes,
  ];
  const { hosts } = await loadDeployment(await labDeployment(given));
  const of = (name: string) => {
    const host = hosts.find((each) => each.name === name);
    if (!host) throw new Error(name);
    return { host, vars: host.vars, hosts };
  };
  return of;
}

/** Lines of haproxy.cfg that match. */
async function lines(changes: Changes, pattern: RegExp, name = 'gw-1'): Promise<string[]> {
  const [file] = gatewayFiles((await contexts(changes))(name)).files;
  return String(file?.content)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => pattern.test(line));
}

test('each RPC host is a server by HTTP and by WebSocket, with its own ports and an id by its name', async () => {
  const changes: Changes = [[['groups', 'rpc', 'rpc-2', 'vars'], { ports: { rpc_http: 18123 } }]];
  const [http1, http2, filter1, , websocket1] = await lines(changes, /^server rpc/);
  expect(http1).toMatch(/^server rpc-1 172\.30\.77\.12:8123 id \d+$/);
  expect(http2).toMatch(/^server rpc-2 172\.30\.77\.13:18123 id \d+$/);
  expect(websocket1).toBe(http1?.replace('8123', '8133'));
  expect(filter1).toMatch(/^server rpc-1 unix@\/messages\/rpc-1\.sock send-proxy-v2 id \d+$/);
  const more = await lines(
    [
      [['groups', 'rpc', 'a-new'], { address: '10.0.0.5' }],
      [['vars', 'state_db', 'max_connections'], 2000],
    ],
    /^server rpc-1/,
  );
  expect(more[0]).toBe(http1);
});

test('the tables that the page of alerts names are there', async () => {
  process.env.GATEWAY_KEY_OF_ALICE = 'key-of-alice-in-render';
  const keys = { alice: { key: 'env:GATEWAY_KEY_OF_ALICE' } };
  const [file] = gatewayFiles((await contexts([[['vars', 'gateway'], { keys }]]))('gw-1')).files;
  const tables = [...String(file?.content).matchAll(/^backend (\w+)\n +stick-table/gm)].map(
    ([, name]) => name,
  );
  const page = readFileSync(join(import.meta.dirname, '../../../docs/alerts-gateway.md'), 'utf8');
  const named = [...page.matchAll(/show table (\w+)|table `(\w+)`/g)].map(([, one, other]) => one ?? other);
  expect(named).toEqual(['limits', 'clients', 'key_limits']);
  expect(tables).toEqual(expect.arrayContaining(named));
});

test('a host for heavy methods is in a backend of its own, and gets no WebSocket', async () => {
  const changes: Changes = [
    [['groups', 'rpc', 'rpc-2', 'vars'], { methods: 'heavy' }],
    [['vars', 'gateway'], { least_serving: 0, methods: { heavy: ['debug_*'] } }],
  ];
  const found = await lines(changes, /^(server rpc|backend rpc|listen messages|use_backend rpc)/);
  expect(found.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    'use_backend rpc_websocket',
    'use_backend rpc_heavy',
    'backend rpc_http',
    'server rpc-1',
    'backend rpc_heavy',
    'server rpc-2',
    'backend rpc_websocket',
    'server rpc-1',
    'listen messages',
    'server rpc-1',
  ]);
});

test('the gateways know each other, and let nobody else in', async () => {
  expect(await lines([], /^server gw|connection reject unless/)).toEqual([
    'server gw-1',
    'server gw-2 [fd00::2]:8143',
    'tcp-request connection reject unless { src 127.0.0.1 fd00::2 }',
    expect.stringContaining('{ src 127.0.0.0/8 10.0.0.1 172.30.77.11 172.30.77.12 '),
  ]);
});

test('challenges of ACME arrive at port 80, and go to certbot here or on another gateway', async () => {
  expect(await lines([], /:80\b|8402|acme/)).toEqual([]);
  const tls = { acme: { email: 'a@b.example' }, names: ['b.example'] };
  expect(await lines([[['vars', 'gateway'], { tls }]], /bind.*:(80|8123)\b|:80$|8402|retries 4/)).toEqual([
    'bind *:8123 ssl crt /etc/rpc-node/gateway/acme.pem alpn http/1.1',
    'bind :::8123 v6only ssl crt /etc/rpc-node/gateway/acme.pem alpn http/1.1',
    'bind *:80',
    'bind :::80 v6only',
    'retries 4',
    'server own 127.0.0.1:8402',
    'server gw-2 [fd00::2]:80',
    'server own 127.0.0.1:8402',
  ]);
});

test('only a file that changes changes the hash', async () => {
  const hash = async (changes: Changes) => gatewayFiles((await contexts(changes))('gw-1')).hash;
  const first = await hash([]);
  expect(await hash([])).toBe(first);
  expect(await hash([[['vars', 'gateway'], { most_behind: 6 }]])).not.toBe(first);
});

test('clients are limited to those of firewall.json_rpc, at the gateway as at the RPC hosts', async () => {
  const given: Changes = [[['vars', 'firewall'], { json_rpc: ['192.0.2.0/24'] }]];
  expect(await lines(given, /192\.0\.2/)).toEqual([
    'tcp-request connection reject unless { src 192.0.2.0/24 }',
  ]);
  const sources = async (changes: Changes) =>
    (await accesses((await contexts(changes))('rpc-1'))).find(({ name }) => name === 'JSON-RPC')?.sources;
  const own = ['172.30.77.11', '172.30.77.13', '10.0.0.1', 'fd00::2'];
  expect(await sources([])).toEqual(own);
  expect(await sources(given)).toEqual([...own, '192.0.2.0/24']);
  expect(await sources([[['groups', 'gateway'], undefined]])).toEqual([
    ...own.slice(0, 2),
    '0.0.0.0/0',
    '::/0',
  ]);
});

test('the shared address has one configuration on each gateway', async () => {
  const of = await contexts([
    [['vars', 'gateway'], { shared: { address: '10.0.0.9/24', interface: 'eth1' } }],
  ]);
  const first = sharedAddressFile(of('gw-1'));
  expect(first).toContain('virtual_router_id 9\n');
  expect(first).toContain('priority 200\n');
  expect(first).toContain('unicast_src_ip 10.0.0.1\n    unicast_peer {\n        fd00::2\n    }\n');
  expect(first).toContain('10.0.0.9/24 dev eth1\n');
  expect(first).toContain('script "/etc/keepalived/may-have-address 127.0.0.1:9101 [fd00::2]:9101"\n');
  expect(sharedAddressFile(of('gw-2'))).toContain('priority 199\n');
  expect(sharedAddressFile((await contexts())('gw-1'))).toBeUndefined();
  // Zero is no number for VRRP.
  const sixth = await contexts([
    [['vars', 'gateway'], { shared: { address: 'fd00::256/64', interface: 'eth1' } }],
  ]);
  expect(sharedAddressFile(sixth('gw-1'))).toContain('virtual_router_id 1\n');
});
