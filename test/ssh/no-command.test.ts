import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newUser, said, sshConfig, sshdWith } from './login.ts';
import { installSshd } from './sshd.ts';

beforeAll(() => {
  installSshd();
  vi.stubEnv('SSH_AUTH_SOCK', '');
});

afterAll(() => void vi.unstubAllEnvs());

const clients = [undefined, 'openssh'] as const;

const forced =
  'this key or account may have a forced command there (authorized_keys, a certificate, ForceCommand), or no login shell';

test.each([
  [
    'an account for sftp alone',
    'ForceCommand internal-sftp',
    1,
    'This service allows sftp connections only.',
  ],
  ['a forced command with words', 'ForceCommand echo "For backups only."', 0, 'For backups only.'],
])('%s is shown in its words, and no guess beside them', async (_, line, code, words) => {
  const own = await sshdWith(line);
  sshConfig('');
  for (const client of clients)
    expect(await said(own, { client })).toBe(
      `db-1: the login shell did not run a command (it ended with ${code}): ${words}\n  ${forced}`,
    );
});

test('a key with the forced command of cloud-init is shown in its words', async () => {
  const own = await sshdWith('');
  sshConfig('');
  // As cloud-init writes it for root, with a shorter sleep.
  const command = `echo 'Please login as the user \\"ubuntu\\" rather than the user \\"root\\".';echo;sleep 1;exit 142`;
  const key = readFileSync(`${own.clientKey}.pub`, 'utf8');
  writeFileSync(`${own.clientKey}.pub`, `no-port-forwarding,command="${command}" ${key}`);
  for (const client of clients)
    expect(await said(own, { client })).toBe(
      `db-1: the login shell did not run a command (it ended with 142): Please login as the user "ubuntu" rather than the user "root".\n  ${forced}`,
    );
});

test('an expired password has to be changed there', async () => {
  const user = newUser();
  execFileSync('chage', ['-d', '0', user]);
  const own = await sshdWith('UsePAM yes');
  sshConfig('');
  for (const client of clients) {
    const refusal = await said(own, { user, client });
    expect(refusal).toContain('Password change required but no TTY available.');
    expect(refusal).toMatch(/\n {2}log in there by hand and change the password$/);
  }
});

test('a shell that ends without a word', async () => {
  const own = await sshdWith('ForceCommand /bin/false');
  sshConfig('');
  for (const client of clients)
    expect(await said(own, { client })).toBe(
      'db-1: the login shell did not run a command (it ended with 1)\n  the account needs a login shell that runs commands, and base64 (coreutils) has to be installed',
    );
});

test('the words before a wait without end are shown', async () => {
  const hint =
    'find out what it waits for: a forced command, a start-up file (~/.bashrc, ~/.profile), a home on a dead file system, sudo; or allow more: --timeout';
  for (const [command, words] of [
    ['echo "Use the bastion."; sleep 60', ': Use the bastion.'],
    ['echo "Use the bastion." >&2; sleep 60', ': Use the bastion.'],
    ['sleep 60', ''],
  ]) {
    const own = await sshdWith(`ForceCommand ${command}`);
    sshConfig('');
    for (const client of clients)
      expect(await said(own, { client }, { timeout: 3 })).toBe(
        `db-1: the login shell did not begin a command within 3 s${words}\n  ${hint}`,
      );
  }
});
