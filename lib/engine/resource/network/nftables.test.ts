import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { refusedByTables, refusesContainers } from './nftables.ts';

/** From nft 1.0.6 of Debian 12. */
const recorded = (name: string) => readFileSync(new URL(`testdata/${name}.txt`, import.meta.url), 'utf8');
const tcp = (...ports: readonly number[]) =>
  ports.map((port) => ({ protocol: 'tcp', published: String(port) }) as const);
const refused = (ruleset: string, ports: readonly number[], protocols: readonly number[] = []) =>
  refusedByTables(ruleset, [{ ports: tcp(...ports), protocols }]);

test('a table lets in what it names: ports, sets, ranges, ports for some addresses, and protocols', () => {
  const own = recorded('nftables');
  expect(refused(own, [22, 80, 443, 8005, 9100, 9187], [112])).toEqual([]);
  expect(refused(own, [53, 81, 8011], [47])).toEqual(['53/tcp', '81/tcp', '8011/tcp', 'protocol 47']);
  const udp = (...ports: readonly number[]) =>
    refusedByTables(own, [
      { ports: ports.map((port) => ({ protocol: 'udp', published: String(port) }) as const) },
    ]);
  expect(udp(53, 443)).toEqual(['443/udp']);
});

test('a firewalld lets in what its zone has', () => {
  const zone = recorded('firewalld');
  expect(refused(zone, [22, 443, 8003, 9100])).toEqual([]);
  expect(refused(zone, [80, 444], [112])).toEqual(['80/tcp', '444/tcp', 'protocol 112']);
});

test('a table that refuses what is forwarded refuses containers, and no firewalld does', () => {
  expect(refusesContainers(recorded('nftables'))).toEqual(['inet filter forward']);
  expect(refusesContainers(recorded('firewalld'))).toEqual([]);
});

/** A table with one more rule in a chain. */
function withRule(chain: string, ...expr: readonly unknown[]): string {
  const { nftables } = JSON.parse(recorded('nftables')) as { nftables: unknown[] };
  const rule = { family: 'inet', table: 'filter', chain, expr };
  return JSON.stringify({ nftables: [...nftables, { rule }] });
}

test('a rule for the bridges of containers lets them through', () => {
  const bridges = { op: '==', left: { meta: { key: 'iifname' } }, right: 'br-*' };
  expect(refusesContainers(withRule('forward', { match: bridges }, { accept: null }))).toEqual([]);
});

test('a map of verdicts lets in the ports that it accepts', () => {
  const key = { payload: { protocol: 'tcp', field: 'dport' } };
  const set = [
    [444, { accept: null }],
    [445, { drop: null }],
    [446, { jump: { target: 'own' } }],
  ];
  expect(refused(withRule('input', { vmap: { key, data: { set } } }), [444, 445, 446])).toEqual(['445/tcp']);
});

test('chains that lead to each other, and what is no ruleset, end', () => {
  expect(refused(withRule('own', { jump: { target: 'own' } }), [444])).toEqual(['444/tcp']);
  for (const text of ['', 'nft: command not found', '[]', '{"nftables":[{"rule":1}]}', 'null'])
    expect([refused(text, [444]), refusesContainers(text)]).toEqual([[], []]);
  for (const odd of [
    null,
    1,
    'x',
    [],
    [1],
    { vmap: 1 },
    { vmap: { data: { set: [1, [], null] } } },
    { match: null },
    { match: { left: 1 } },
    { jump: null },
  ])
    expect(refused(withRule('input', Object(odd)), [444])).toEqual(['444/tcp']);
});
