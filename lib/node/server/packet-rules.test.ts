import { expect, test } from 'vitest';
import firewall from '../../../roles/firewall.ts';
import { refusalOf, type Verdict } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';

const changes: Changes = [
  [['groups', 'gateway'], { 'gw-1': { address: 'gw-1.example' }, 'gw-2': { address: 'gw-2.example' } }],
  [['groups', 'monitor'], { 'monitor-1': { address: 'monitor-1.example' } }],
];
const known = { 'gw-1.example': '10.0.0.21', 'gw-2.example': '10.0.0.22', 'monitor-1.example': '10.0.0.31' };

/** What the first host of a group says of its rules, where names have other addresses. */
async function rulesOn(group: 'gateway' | 'monitor', others: Partial<typeof known>): Promise<Verdict> {
  const resources = await firewall.resources(await contextOf({ changes, group }));
  const rules = resources.find(({ name }) => name === 'published ports are open to their sources alone');
  const names = Object.entries({ ...known, ...others }).map(
    ([name, address]) => [new RegExp(`getent ahosts ${name}$`), `${address}  STREAM ${name}\n`] as const,
  );
  if (!rules) throw new Error('there is no such resource');
  return rules.check(fakeHost([[/^(ip6?tables|\[ -e)/, ''], ...names]));
}

test.each([
  ['gateway', 'gw-1.example', ['10.0.0.22', '10.0.0.31']],
  ['monitor', 'monitor-1.example', []],
] as const)(
  'a %s that knows its own name at loopback alone, as Debian writes it, gets its rules',
  async (group, own, sources) => {
    const verdict = await rulesOn(group, { [own]: '127.0.1.1' });
    expect(refusalOf(verdict)?.message).toBeUndefined();
    const steps = verdict.is === 'drift' && Array.isArray(verdict.change) ? verdict.change : [];
    const file = steps.find((step) => step.do === 'write' && step.path.endsWith('/firewall.v4'));
    const text = Buffer.from(file?.content ?? '').toString();
    expect(text).toContain('-A RPC-PLAYBOOKS-EXPORTERS -j DROP');
    for (const source of sources) expect(text).toContain(`-s ${source}/32 -j RETURN`);
    expect(text).not.toContain('127.0');
  },
);

test('another host whose name is at loopback is refused with what to do', async () => {
  expect(refusalOf(await rulesOn('gateway', { 'gw-2.example': '127.0.1.1' }))).toMatchObject({
    message: 'this host finds no address of gw-2.example',
    hint: 'make this host resolve the name, or give the host of that name its addresses: vars: { firewall: { connects_from: [ADDRESS] } }',
  });
});
