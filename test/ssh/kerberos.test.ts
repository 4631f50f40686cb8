import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { installMissing } from '../install-missing.ts';
import { newKey, said, sshConfig, sshdWith } from './login.ts';
import { freePort, installSshd } from './sshd.ts';

beforeAll(() => {
  installSshd();
  installMissing([
    ['/usr/sbin/krb5kdc', 'krb5-kdc'],
    ['/usr/sbin/kadmin.local', 'krb5-admin-server'],
    ['/usr/bin/kinit', 'krb5-user'],
  ]);
  vi.stubEnv('SSH_AUTH_SOCK', '');
});

afterAll(() => void vi.unstubAllEnvs());

/** A key distribution centre with the user root and the service host/localhost. */
async function startRealm(): Promise<void> {
  const folder = temporaryDirectory();
  const at = (name: string) => join(folder, name);
  const port = await freePort();
  writeFileSync(
    at('krb5.conf'),
    `[libdefaults]
  default_realm = TEST.INVALID
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
[realms]
  TEST.INVALID = {
    kdc = 127.0.0.1:${port}
  }
[domain_realm]
  localhost = TEST.INVALID
`,
  );
  writeFileSync(
    at('kdc.conf'),
    `[kdcdefaults]
  kdc_listen = 127.0.0.1:${port}
  kdc_tcp_listen = 127.0.0.1:${port}
[realms]
  TEST.INVALID = {
    database_name = ${at('principal')}
    key_stash_file = ${at('stash')}
  }
`,
  );
  vi.stubEnv('KRB5_CONFIG', at('krb5.conf'));
  vi.stubEnv('KRB5_KDC_PROFILE', at('kdc.conf'));
  vi.stubEnv('KRB5_KTNAME', at('keytab'));
  vi.stubEnv('KRB5CCNAME', `FILE:${at('tickets')}`);
  const run = (...[program = '', ...words]: string[]) => execFileSync(program, words, { stdio: 'pipe' });
  run('/usr/sbin/kdb5_util', 'create', '-s', '-P', 'master', '-r', 'TEST.INVALID');
  run('/usr/sbin/kadmin.local', '-q', 'addprinc -pw right-password root');
  run('/usr/sbin/kadmin.local', '-q', 'addprinc -randkey host/localhost');
  run('/usr/sbin/kadmin.local', '-q', `ktadd -k ${at('keytab')} host/localhost`);
  const centre = spawn('/usr/sbin/krb5kdc', ['-n', '-P', at('pid')], { stdio: 'ignore' });
  onTestFinished(() => void centre.kill());
}

test('a ticket of Kerberos logs in where there is no key, or none that the host accepts', async () => {
  await startRealm();
  const own = await sshdWith('GSSAPIAuthentication yes\nGSSAPIStrictAcceptorCheck no');
  sshConfig('GSSAPIAuthentication yes', 'IdentityFile none');
  const here = { address: 'localhost', identityFile: undefined };
  expect(await said(own, here)).toMatch(/^db-1: there is no key to log in with as root\n/);
  const getTicket = () => execFileSync('kinit', ['root'], { input: 'right-password\n', stdio: 'pipe' });
  await vi.waitFor(getTicket, 60_000);
  expect(await said(own, here)).toBe('in');
  expect(await said(own, { ...here, identityFile: newKey() })).toBe('in');
  // ssh_config does not ask for it.
  sshConfig('GSSAPIAuthentication no', 'IdentityFile none');
  expect(await said(own, here)).toMatch(/^db-1: there is no key to log in with as root\n/);
});

test('OpenSSH also tries a host that ssh_config logs in to by the key of this machine', async () => {
  const own = await sshdWith('LogLevel VERBOSE\nHostbasedAuthentication yes');
  sshConfig('HostbasedAuthentication yes', 'IdentityFile none');
  const refusal = await said(own, { identityFile: newKey() });
  expect(refusal).toMatch(/^db-1: root could not log in .*the server offers: publickey, hostbased/);
  const connections = () => own.log().match(/^Connection from /gm)?.length;
  await vi.waitFor(() => expect(connections()).toBe(2), 60_000);
});
