import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf, refusal } from '../testing/role-context.ts';
import { ownRulesLetIn } from './own-rules.ts';

const name = 'other rules of the host let the ports of the deployment through';
const containers = 'other rules of the host let containers through';
const recorded = (file: string) =>
  readFileSync(new URL(`../../engine/resource/network/testdata/${file}.txt`, import.meta.url), 'utf8');
const gateways = { 'gw-1': { address: '10.0.0.1' }, 'gw-2': { address: '10.0.0.2' } };

async function rulesFor(group: 'gateway' | 'database' | 'rpc', listing: string, monitored = false) {
  const changes = [
    [['groups', 'gateway'], gateways],
    [
      ['vars', 'gateway'],
      { http: 443, websocket: 444, shared: { address: '10.0.0.9/24', interface: 'eth0' } },
    ],
    ...(monitored ? [[['vars', 'monitoring'], { scrape_from: ['10.20.9.5'] }] as const] : []),
  ] as const;
  const resources = ownRulesLetIn(await contextOf({ changes, group }));
  return { resources, host: hostWith(listing) };
}

/** A host with rules of iptables, and with tables of nftables. */
function hostWith(iptables: string, tables = '') {
  const command = { exitCode: 127, stderr: 'sh: 1: nft: not found' };
  return fakeHost([
    [/^iptables --wait=60 -S/, iptables],
    [/^nft --json list ruleset/, tables === '' ? command : tables],
  ]);
}

test('a ufw on a gateway: what clients, gateways and keepalived need is named, with what to do', async () => {
  const { resources, host } = await rulesFor('gateway', recorded('ufw'));
  expect(resources.map(({ expects }) => expects)).toEqual(['should']);
  const { is } = (await resources[0]?.check(host)) ?? {};
  expect(is).toBe('drift');
  expect(await refusal(resources, name, host)).toEqual([
    `${name}: they refuse 444/tcp, 9101/tcp, 8143/tcp`,
    'a ufw: ufw allow 443/tcp, or ufw allow proto tcp from ADDRESS to any port 9100 (protocol 112: ufw allow proto vrrp from ADDRESS). A firewalld: firewall-cmd --permanent --add-port=443/tcp, then firewall-cmd --reload. Tables of nftables: tcp dport 443 accept in their chain, and in /etc/nftables.conf. Rules of iptables, as in images of Oracle: iptables -I INPUT -p tcp --dport 443 -j ACCEPT, and netfilter-persistent save',
  ]);
});

test('an image of Oracle in front of a monitor: each exporter that is there, and no port of a container', async () => {
  for (const [group, refused] of [
    ['database', '9100/tcp, 9187/tcp'],
    ['rpc', '9100/tcp'],
  ] as const) {
    const { resources, host } = await rulesFor(group, recorded('oracle-image'), true);
    expect((await refusal(resources, name, host))[0]).toBe(`${name}: they refuse ${refused}`);
  }
});

test.each([
  ['tables of nftables', 'nftables', '444/tcp, 9101/tcp, 8143/tcp'],
  ['a firewalld', 'firewalld', '444/tcp, 9101/tcp, 8143/tcp, protocol 112'],
])('%s on a gateway: each table decides, whatever iptables lets in', async (_, file, refused) => {
  const { resources } = await rulesFor('gateway', '');
  const host = hostWith('-P INPUT ACCEPT\n', recorded(file));
  expect((await refusal(resources, name, host))[0]).toBe(`${name}: they refuse ${refused}`);
});

test('a table that refuses what is forwarded: the chain is named on a server of the node, with what to do', async () => {
  const { resources } = await rulesFor('rpc', '');
  const host = hostWith('-P INPUT ACCEPT\n', recorded('nftables'));
  expect(await refusal(resources, containers, host)).toEqual([
    `${containers}: nftables refuses what containers send and get, in inet filter forward`,
    'put two rules into that chain, and into /etc/nftables.conf: iifname "br-*" accept, and oifname "br-*" accept. Docker\'s own rules cannot do that',
  ]);
  const [own] = resources;
  expect(await own?.check(hostWith(''))).toEqual({ is: 'ok' });
});

test('a host whose ports are for nobody but its own containers is not asked for ports', async () => {
  const { resources } = await rulesFor('rpc', recorded('ufw'));
  expect(resources.map((each) => each.name)).toEqual([containers]);
});
