import { expect, test } from 'vitest';
import { createReader } from '../../host/reader.ts';
import { connectLocally } from '../../host/testing/local-connection.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { packetFilter, rulesAreKept } from './packet-filter.ts';

const port = (published: string) => [{ protocol: 'tcp', published }] as const;
const rules = packetFilter({
  product: 'any',
  prefix: 'ANY',
  accesses: [
    { name: 'INTERNAL', ports: port('5432'), sources: ['10.0.0.1', 'fd00::/64'] },
    { name: 'LEFT', ports: port('9100'), sources: [], onlyWith: '/etc/any.conf' },
  ],
  hint: '',
  protects: ['docker.service', 'haproxy.service'],
  networks: ['any'],
});

test('a check of the rules and of the units that keep them is one request', async () => {
  const connection = await connectLocally();
  const reader = createReader(connection, 'this machine');
  const units = rulesAreKept({ product: 'any', networks: ['any'] });
  // What this machine has does not matter here.
  const before = connection.execs;
  await Promise.all([rules, ...units].map((each) => each.check(reader)));
  expect(connection.execs - before).toBe(1);
});

test('the drop-ins come after the rules are loaded, and systemd reads them last', async () => {
  const verdict = await rules.check(fakeHost([[/^(ip6?tables|\[ -e)/, '']]));
  const steps = verdict.is === 'drift' && Array.isArray(verdict.change) ? verdict.change : [];
  const done = steps.map((step) => (step.do === 'write' ? step.path : 'command' in step ? step.command : ''));
  const at = (text: string) => done.findIndex((each) => each.includes(text));
  expect(at('/etc/any/firewall.v6')).toBeLessThan(at('/usr/local/lib/any/firewall /etc/any/firewall ANY'));
  expect(at('/usr/local/lib/any/firewall /etc/any/firewall ANY')).toBeLessThan(
    at('/haproxy.service.d/any-firewall.conf'),
  );
  expect(done.at(-1)).toBe('systemctl daemon-reload');
  // Written, too, for programs that remove the rules of others.
  expect(done.filter((path) => path.endsWith('/any-firewall.conf'))).toHaveLength(6);
});

test('nothing stops or restarts with the unit of the rules', async () => {
  const verdict = await rules.check(fakeHost([[/^(ip6?tables|\[ -e)/, '']]));
  const steps = verdict.is === 'drift' && Array.isArray(verdict.change) ? verdict.change : [];
  const texts = steps.flatMap((step) =>
    step.do === 'write' && step.path.startsWith('/etc/systemd') ? [String(step.content)] : [],
  );
  expect(texts).toHaveLength(9);
  expect(texts.join('\n')).not.toMatch(/^(Requires|BindsTo|PartOf)=/m);
  // SSH and the network never wait for it.
  expect(texts.join('\n')).not.toMatch(/ssh|network-pre|network\.target/);
});
