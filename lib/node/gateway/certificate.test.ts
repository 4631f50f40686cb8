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
        command: `${program} issue https://acme.example.com/dir ops@example.com a.example.com rpc.example.com`,
      },
    ],
  });
});

test('a certificate that was issued and that HAProxy has is not asked for again', async () => {
  const lines = [
    'directory https://acme.example.com/dir',
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
