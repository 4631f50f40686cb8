import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { refusedPorts } from './refused-ports.ts';

const recorded = (name: string) => readFileSync(new URL(`testdata/${name}.txt`, import.meta.url), 'utf8');
const tcp = (...ports: readonly number[]) =>
  ports.map((port) => ({ protocol: 'tcp', published: String(port) }) as const);
const refused = (listing: string, ports: readonly number[], protocols: readonly number[] = []) =>
  refusedPorts(listing, 'RPC-PLAYBOOKS', [{ ports: tcp(...ports), protocols }]);

test('a ufw lets in what it names: ports, ranges, lists, limited ports, and ports for one address', () => {
  const ufw = recorded('ufw');
  expect(refused(ufw, [22, 443, 80, 8005, 2222, 9100], [112])).toEqual([]);
  expect(refused(ufw, [8443, 8011, 5353], [47])).toEqual(['8443/tcp', '8011/tcp', '5353/tcp', 'protocol 47']);
  const udp = [{ ports: [{ protocol: 'udp', published: '443' }] }] as const;
  expect(refusedPorts(ufw, 'RPC-PLAYBOOKS', udp)).toEqual(['443/udp']);
});

test('an image of Oracle refuses all but SSH by its last rule', () => {
  expect(refused(recorded('oracle-image'), [22, 443], [112])).toEqual(['443/tcp', 'protocol 112']);
});

test('our own chains let nothing in, and a host without such rules refuses nothing', () => {
  const ours = '-A RPC-PLAYBOOKS-INPUT -i lo -j RETURN\n-A INPUT -j RPC-PLAYBOOKS-INPUT\n';
  expect(refused(`-P INPUT ACCEPT\n${ours}`, [443], [112])).toEqual([]);
  expect(refused(`-P INPUT DROP\n${ours}`, [443])).toEqual(['443/tcp']);
});
