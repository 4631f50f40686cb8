import { expect, test } from 'vitest';
import exporters from '../../../roles/exporters.ts';
import gateway from '../../../roles/gateway.ts';
import gatewayCertificate from '../../../roles/gateway-certificate.ts';
import type { Step } from '../../engine/host/step.ts';
import { ok } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';

const program = '/usr/local/lib/rpc-node/acme';
const acme = { email: 'ops@example.com', directory: 'https://acme.example.com/dir' };
const state = (...lines: readonly string[]) =>
  fakeHost([[/acme state$/, lines.map((line) => `${line}\n`).join('')]]);

const context = (tls?: object) =>
  contextOf({
    group: 'gateway',
    changes: [
      [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' } }],
      [['groups', 'monitor'], { 'mon-1': { address: '10.0.0.2' } }],
      [['vars', 'gateway'], { tls }],
    ],
  });

async function issued(names = ['Rpc.example.com', 'a.example.com']) {
  const [timer, certificate] = await gatewayCertificate.resources(await context({ acme, names }));
  expect(timer?.name).toBe('certbot.timer is enabled and running');
  if (!certificate) throw new Error('no certificate');
  return certificate;
}

test('a bare host shows in check mode what would be asked', async () => {
  const certificate = await issued();
  expect(certificate.name).toBe(
    'HAProxy has a certificate for Rpc.example.com, a.example.com, issued by acme.example.com',
  );
  expect(await certificate.check(fakeHost([]))).toMatchObject({
    is: 'drift',
    change: [
      {
        command: `${program} issue https://acme.example.com/dir ops@example.com http a.example.com rpc.example.com`,
      },
    ],
  });
});

test('a certificate that was issued and that HAProxy has is not asked for again', async () => {
  const lines = [
    'directory https://acme.example.com/dir',
    'by http',
    'names a.example.com rpc.example.com',
    'valid yes',
  ];
  expect(await (await issued()).check(state(...lines, 'served yes'))).toEqual(ok);
  expect(await (await issued()).check(state(...lines))).toMatchObject({
    change: [{ command: `${program} deployed` }],
  });
  expect(await (await issued(['b.example.com'])).check(state(...lines, 'served yes'))).toMatchObject({
    differences: [{ what: 'for', was: 'a.example.com rpc.example.com', wanted: 'b.example.com' }],
    change: [{ command: expect.stringContaining('issue') }],
  });
});

const key = 'c2VjcmV0LW9mLXRoZS1rZXk=';
const byDns = async (dns: object, names: readonly string[] = ['*.example.com']) =>
  gatewayCertificate.resources(await context({ acme: { ...acme, dns }, names }));
const rfc2136 = { server: '192.0.2.53', name: 'acme.', secret: 'env:DNS_KEY' };
const before = ['directory https://acme.example.com/dir', 'names *.example.com', 'valid yes', 'served yes'];

test('by the DNS, a certificate is tried before it is issued, and a changed key is tried again', async () => {
  process.env.DNS_KEY = key;
  const issue = async (dns: object, ...lines: readonly string[]) => {
    const verdict = await (await byDns(dns)).at(-1)?.check(state(...before, ...lines));
    if (verdict?.is !== 'drift') return [];
    const steps = Array.isArray(verdict.change) ? verdict.change : [];
    return steps.map((step: Step) => (step.do === 'run' ? step.command.split(' ').slice(1).join(' ') : ''));
  };
  const words = 'https://acme.example.com/dir ops@example.com rfc2136';
  const end = "'*.example.com'";
  expect(await issue({ rfc2136 })).toEqual([`try ${words} ${end}`, `issue ${words} ${end}`]);
  expect(await issue({ rfc2136 }, 'by rfc2136', 'tried yes')).toEqual([]);
  expect(await issue({ rfc2136 }, 'by rfc2136')).toEqual([`try ${words} ${end}`]);
  expect(await issue({ rfc2136, propagation_seconds: 0 }, 'by rfc2136', 'tried yes')).toEqual([
    `try ${words}:0 ${end}`,
    `issue ${words}:0 ${end}`,
  ]);
  expect((await byDns({ rfc2136 })).at(-1)?.follows).toEqual([
    { what: 'file /etc/rpc-node/gateway/dns.credentials', effect: 'is tried', certain: true },
  ]);
});

test('the credentials are for root alone, and a plan shows no secret of them', async () => {
  process.env.DNS_KEY = key;
  const [file] = await byDns({ rfc2136 });
  const older = 'dns_rfc2136_server = 192.0.2.54\ndns_rfc2136_secret = b2xkZXI=\n';
  const verdict = await file?.check(
    fakeHost([], {
      stat: async () => rootsFile,
      compare: async () => ({ same: false, content: Buffer.from(older) }),
    }),
  );
  expect(verdict).toMatchObject({
    change: [{ do: 'write', secret: true, attributes: { mode: 0o600, owner: 'root' } }],
  });
  const shown = JSON.stringify(verdict?.is === 'drift' && verdict.differences);
  expect(shown).toContain('dns_rfc2136_server = 192.0.2.53');
  expect(shown).toContain('dns_rfc2136_secret = [secret]');
  expect(shown).not.toMatch(/c2VjcmV0|b2xkZXI/);
});

test('no port 80, and the package of the plugin', async () => {
  process.env.DNS_KEY = key;
  const all = await gateway.resources(
    await context({ acme: { ...acme, dns: { cloudflare: { api_token: 'env:DNS_KEY' } } }, names: ['a.b'] }),
  );
  const names = all.map(({ name }) => name).join('\n');
  expect(names).toContain('python3-certbot-dns-cloudflare');
  expect(names).not.toContain('key for the DNS');
  const without = await gateway.resources(await context({ acme, names: ['a.b'] }));
  expect(without.map(({ name }) => name)).toContain('no key for the DNS is left');
});

test('HAProxy gets a placeholder once, and only where certbot gets its certificate', async () => {
  const name = 'HAProxy has a certificate to start with';
  const find = async (tls?: object) =>
    (await gateway.resources(await context(tls))).find((resource) => resource.name === name);
  expect(await find()).toBeUndefined();
  const placeholder = await find({ acme, names: ['a.example.com'] });
  expect(await placeholder?.check(fakeHost([]))).toMatchObject({
    change: [{ command: `${program} placeholder` }],
  });
  expect(await placeholder?.check(fakeHost([], { stat: async () => rootsFile }))).toEqual(ok);
  expect(await gatewayCertificate.resources(await context())).toEqual([]);
});

test('the end of the certificate is measured', async () => {
  const all = await exporters.resources(await context({ acme, names: ['a.example.com'] }));
  const settings = all.find((resource) => resource.name.includes('metrics.conf'));
  const verdict = await settings?.check(fakeHost([]));
  const steps = verdict?.is === 'drift' && Array.isArray(verdict.change) ? verdict.change : [];
  const written = steps
    .flatMap((step: Step) => (step.do === 'write' ? step.content.toString() : []))
    .join('');
  expect(written).toMatch(/^CERTIFICATES='?\/etc\/rpc-node\/gateway\/acme\.pem'?$/m);
});
