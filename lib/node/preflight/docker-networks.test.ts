import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeUnmet, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost, stoppedUnit } from '../../engine/resource/testing/fake-host.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';
import { networksAreApart } from './docker-networks.ts';

/**
 * `docker network inspect $(docker network ls --quiet)` of Docker 20.10: a network app_default
 * (10.213.7.0/24), bridge (172.17.0.0/16), host, none, and rpc-node (10.214.7.0/24) with pool-db
 * at 10.214.7.2.
 */
const networks = readFileSync(new URL('testdata/docker-networks.json', import.meta.url), 'utf8');

const running = { unit: async () => ({ ...stoppedUnit, active: 'active' }) };
const at = (address: string): Changes[number] => [['groups', 'database', 'db-1', 'address'], address];
const subnet = (text: string): Changes[number] => [['vars', 'container_subnet'], text];

async function answer(changes: Changes, names = '', group: 'database' | 'rpc' = 'rpc') {
  const resource = networksAreApart(await contextOf({ group, changes }));
  const host = fakeHost(
    [
      [/docker network inspect/, networks],
      [/^getent ahosts '?db/, names],
    ],
    running,
  );
  const verdict = await resource.check(host);
  return verdict.is === 'drift' ? describeUnmet(resource, verdict) : verdict;
}

test('other addresses are no fault, and neither is that of a container or of the host in its network', async () => {
  for (const address of ['172.30.77.11', '10.213.8.1', '10.214.7.2', '172.17.0.1']) {
    expect(await answer([at(address)]), address).toEqual(ok);
  }
});

test('it is known when Docker runs', async () => {
  const resource = networksAreApart(await contextOf({ group: 'rpc' }));
  expect(await resource.check(fakeHost([]))).toEqual(unknownUntil('docker is running'));
});

const own = `give the containers a network that nothing else uses: container_subnet in the inventory (docs/network.md, "Networks of containers")`;
const others =
  'remove that network if nothing uses it (docker network rm), or have it made again with another subnet: in its Compose file, or by default-address-pools in /etc/docker/daemon.json';

test.each<[string, Changes, string, string]>([
  [
    'a host',
    [at('10.214.7.9')],
    '10.214.7.9, the address of db-1, lies in network rpc-node of Docker (10.214.7.0/24)',
    own,
  ],
  [
    'a host by its name',
    [at('db.internal')],
    '10.213.7.9, the address of db-1, lies in network app_default of Docker (10.213.7.0/24)',
    others,
  ],
  [
    'layer 1',
    [[['vars', 'network', 'l1_rpc_url'], 'http://172.17.3.4:8545/key']],
    '172.17.3.4, layer 1, lies in network bridge of Docker (172.17.0.0/16)',
    others,
  ],
])('an address in a network of Docker is refused: %s', async (_, changes, words, hint) => {
  const said = await answer(changes, '10.213.7.9      STREAM db.internal\n10.213.7.9      DGRAM  \n');
  expect(said).toBe(`${words}, and containers look for it in that network alone\n${hint}`);
});

/** In app_default, which has no container at this address. */
const inside = '10.213.7.9';

test.each<[whose: string, changes: Changes, address?: string, group?: 'database' | 'rpc']>([
  ['the registry of images', [[['vars', 'registry', 'address'], `${inside}:5000`]]],
  [
    'the server of the genesis file',
    [[['vars', 'network', 'genesis', 'url'], `http://${inside}/genesis.json`]],
  ],
  [
    'the server of the state snapshot',
    [[['vars', 'snapshot', 'state', 'url'], `http://${inside}/testnet_state_db.sql.tar.gz`]],
    inside,
    'database',
  ],
  ['the webhook of the disk alert', [[['vars', 'disk_alert', 'webhook'], `http://${inside}/alert`]]],
  [
    'in firewall.connects_from of db-1',
    [[['groups', 'database', 'db-1', 'vars'], { firewall: { connects_from: [inside] } }]],
  ],
])('what the inventory lists is refused in a network of Docker: %s', async (...given) => {
  const [whose, changes, address = inside, group = 'rpc'] = given;
  expect(await answer(changes, '', group)).toBe(
    `${address}, ${whose}, lies in network app_default of Docker (10.213.7.0/24), and containers look for it in that network alone\n${others}`,
  );
});

test.each<[what: string, changes: Changes]>([
  [
    'networks that hold one of Docker',
    [
      [
        ['vars', 'firewall', 'internal'],
        ['10.0.0.0/8', '10.213.0.0/16'],
      ],
    ],
  ],
  ['all clients', [[['vars', 'firewall', 'json_rpc'], ['0.0.0.0/0']]]],
  ['clients in containers of the host', [[['vars', 'firewall', 'json_rpc'], ['10.213.7.0/24']]]],
  ['databases for containers of the host', [[['vars', 'firewall', 'internal'], ['10.213.7.128/25']]]],
  ['a Prometheus in a container', [[['vars', 'monitoring', 'scrape_from'], [inside]]]],
  ['the address of a container', [[['vars', 'monitoring', 'scrape_from'], ['10.214.7.2/32']]]],
  ['names', [[['vars', 'disk_alert', 'webhook'], 'http://alerts.example/']]],
  ['a word', [[['vars', 'disk_alert', 'webhook'], 'journal']]],
])('what the inventory lists may be %s', async (_, changes) => {
  expect(await answer(changes)).toEqual(ok);
});

test('an RPC server needs no snapshot', async () => {
  const url = `http://${inside}/testnet_state_db.sql.tar.gz`;
  expect(await answer([[['vars', 'snapshot', 'state', 'url'], url]])).toEqual(ok);
});

test('the own network is made again with the subnet of the inventory, which may overlap with no other', async () => {
  expect(await answer([at('10.214.7.9'), subnet('10.215.7.0/24')])).toEqual(ok);
  expect(await answer([subnet('10.213.0.0/16')])).toBe(
    'container_subnet 10.213.0.0/16 overlaps with network app_default of Docker (10.213.7.0/24)\nchoose a network that nothing else uses',
  );
});
