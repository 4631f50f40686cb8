import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { readFirewall } from './firewall.ts';

/** As test/kinds/packet-filter.test.ts has it from the script. */
const state = (values: Readonly<Record<string, string | number>> = {}) =>
  Object.entries({ loaded: 1, checked: 99_990, restored: 0, restored_at: 0, missed: '', ...values })
    .map(([key, value]) => `${key} ${value}\n`)
    .join('');

const says = async (text: string | undefined) => {
  const read = async () => (text === undefined ? undefined : Buffer.from(text));
  const found = await readFirewall(fakeHost([[/^date/, '100000']], { read }));
  return found.map(({ is, fault, says: words }) => `${fault ? 'fault' : 'note'} ${is}: ${words}`);
};

test('rules that are as they should be are not worth a word', async () => {
  expect(await says(state())).toEqual([]);
  expect(await says(state({ restored: 2, restored_at: 1000, missed: 'iptables: no chain X' }))).toEqual([]);
});

test('rules that somebody removed are reported for a day, with what was missing', async () => {
  const missed = 'ip6tables: no jump from INPUT to RPC-PLAYBOOKS-INPUT';
  expect(await says(state({ restored: 1, restored_at: 99_700, missed }))).toEqual([
    `note firewall-flushed: firewall: somebody else removed its rules once since the boot; they were put back 5 min 00 s ago (${missed})`,
  ]);
  const [often] = await says(state({ restored: 2880, restored_at: 99_980, missed }));
  expect(often).toContain('2,880 times since the boot; they were put back 20 s ago');
});

test('rules that are not loaded, and rules that nobody has looked at, are faults', async () => {
  expect(await says(state({ loaded: 0 }))).toEqual([
    'fault firewall-down: firewall: its rules are not loaded: journalctl -u rpc-node-firewall has the reason',
  ]);
  expect(await says(state({ checked: 99_000 }))).toEqual([
    'fault firewall-unchecked: firewall: its rules were last checked 16 min 40 s ago: see systemctl status rpc-node-firewall.timer',
  ]);
});

test('a host that no deploy has given the unit is not called unhealthy for it', async () => {
  expect(await says(undefined)).toEqual([
    'note firewall-unwatched: firewall: nobody looks after its rules yet: a deploy sets it up',
  ]);
});
