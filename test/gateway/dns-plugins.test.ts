import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fakeHost } from '../../lib/engine/resource/testing/fake-host.ts';
import { contextOf } from '../../lib/node/testing/role-context.ts';
import { dnsPlugins } from '../../lib/node/variables/acme.ts';
import gatewayCertificate from '../../roles/gateway-certificate.ts';
import { inEveryForm } from '../faults/seed.ts';
import { installMissing } from '../install-missing.ts';

const program = fileURLToPath(new URL('dns-plugins.py', import.meta.url));
const secrets = { TOKEN: 'dop_v1-a.B~9', KEY: 'AKIA0', SECRET: 'c2Vj/mV0+29mLXRoZS1rZXk=' };
const [token, key, secret] = ['env:DNS_PLUGIN_TOKEN', 'env:DNS_PLUGIN_KEY', 'env:DNS_PLUGIN_SECRET'];
const account = {
  type: 'service_account',
  project_id: 'p',
  private_key_id: '1',
  client_email: 'certbot@p.example',
  client_id: '2',
};

/** What the inventory has of each plugin, and what the plugin has to give to the provider. */
const cases: Readonly<Record<string, readonly [object, readonly string[]]>> = {
  rfc2136: [
    { server: '192.0.2.53', port: 5353, name: 'acme.', secret, algorithm: 'HMAC-SHA512' },
    ['192.0.2.53', '5353', 'acme.', 'HMAC-SHA512', secrets.SECRET],
  ],
  cloudflare: [{ api_token: token }, [secrets.TOKEN]],
  route53: [{ access_key: key, secret_key: secret }, [secrets.KEY, secrets.SECRET]],
  google: [{ account: 'env:DNS_PLUGIN_ACCOUNT' }, [account.client_email]],
  digitalocean: [{ token }, [secrets.TOKEN]],
  ovh: [
    { endpoint: 'ovh-ca', application_key: key, application_secret: secret, consumer_key: token },
    ['ovh-ca', secrets.KEY, secrets.SECRET, secrets.TOKEN],
  ],
  linode: [{ key: token }, [secrets.TOKEN]],
  dnsimple: [{ token }, [secrets.TOKEN]],
  gehirn: [{ api_token: token, api_secret: secret }, [secrets.TOKEN, secrets.SECRET]],
  sakuracloud: [{ api_token: token, api_secret: secret }, [secrets.TOKEN, secrets.SECRET]],
};

/** The file of credentials that a gateway gets. */
async function credentials(dns: object): Promise<string> {
  const tls = { acme: { email: 'ops@b.example', dns }, names: ['b.example'] };
  const context = await contextOf({
    group: 'gateway',
    changes: [
      [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' } }],
      [['vars', 'gateway'], { tls }],
    ],
  });
  const [file] = await gatewayCertificate.resources(context);
  const verdict = await file?.check(fakeHost([]));
  const [step] = verdict?.is === 'drift' && Array.isArray(verdict.change) ? verdict.change : [];
  if (step?.do !== 'write') throw new Error('no file of credentials');
  return step.content.toString();
}

test('each plugin has a case', () => {
  expect(Object.keys(cases)).toEqual(dnsPlugins);
});

/** With npm run test:long alone: the plugins are many packages. */
describe.skipIf(!inEveryForm)("the real plugins of Debian's certbot read the credentials", () => {
  let folder: string;
  beforeAll(() => {
    const installed = (plugin: string) => `/usr/lib/python3/dist-packages/certbot_dns_${plugin}`;
    installMissing(dnsPlugins.map((plugin) => [installed(plugin), `python3-certbot-dns-${plugin}`]));
    folder = mkdtempSync(join(tmpdir(), 'dns-plugins-'));
    for (const [name, value] of Object.entries(secrets)) process.env[`DNS_PLUGIN_${name}`] = value;
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    process.env.DNS_PLUGIN_ACCOUNT = JSON.stringify({ ...account, private_key: pem }, null, 2);
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(Object.entries(cases))('%s', async (plugin, [dns, given]) => {
    const file = join(folder, plugin);
    writeFileSync(file, await credentials({ [plugin]: dns }), { mode: 0o600 });
    const read = execFileSync('/usr/bin/python3', [program, plugin, file], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
    expect(JSON.parse(read)).toEqual(given);
  });
});
