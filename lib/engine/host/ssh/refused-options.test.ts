import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeProblem } from '../../problem/problem.ts';
import { Unreachable } from '../connection-errors.ts';
import { standInFor, temporaryDirectory } from '../testing/local-connection.ts';
import { sshOption } from './option-table.ts';
import { resolveSshConfig } from './resolve-ssh-config.ts';
import { parseSshSettings } from './ssh-settings.ts';

/** The real ssh, which reads this file in place of the operator's. */
function sshWith(config: string, more = ''): void {
  const file = join(temporaryDirectory(), 'config');
  writeFileSync(file, config);
  standInFor('ssh', `[ "$1" = -F ] || { set -- -F ${file} "$@"; ${more}\n}\nexec /usr/bin/ssh "$@"`);
}

/** What becomes of a host: the client that connects, or the refusal. */
async function outcome(config: string, more?: string): Promise<string> {
  sshWith(config, more);
  return resolveSshConfig('db-1', '10.0.0.1').then(
    ({ isBeyondLibrary }) => (isBeyondLibrary ? 'openssh' : 'library'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(Unreachable);
      return describeProblem(error as Unreachable);
    },
  );
}

test('every option that ssh prints is known', () => {
  const printed = execFileSync('ssh', ['-F', 'none', '-G', 'any.invalid'], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
  const options = [...parseSshSettings(printed).keys()];
  expect(options.length).toBeGreaterThan(60);
  expect(options.filter((option) => !sshOption(option))).toEqual([]);
});

test.each([
  'ProxyCommand nc %h %p',
  'BindInterface eth7',
  'CheckHostIP yes',
  'KnownHostsCommand /usr/bin/printf x',
  'CertificateFile ~/.ssh/id-cert.pub',
  'PKCS11Provider /usr/lib/token.so',
  'PubkeyAuthentication no',
  'PreferredAuthentications keyboard-interactive,password',
  'RekeyLimit 1G 1h',
  'PermitLocalCommand yes\nLocalCommand knock %h',
  'MACs umac-128-etm@openssh.com',
  'KexAlgorithms sntrup761x25519-sha512@openssh.com',
  'HostKeyAlgorithms ssh-ed25519-cert-v01@openssh.com',
])('for an option that the library cannot follow, OpenSSH connects: %j', async (lines) => {
  expect(await outcome(`Host 10.0.0.1\n  ${lines.replaceAll('\n', '\n  ')}\n`)).toBe('openssh');
  // Not for another host.
  expect(await outcome(`Host 10.0.0.2\n  ${lines.replaceAll('\n', '\n  ')}\n`)).toBe('library');
});

test.each(['RemoteCommand tmux attach', 'SessionType none'])(
  'an option with which ssh runs no command is refused by name: %s',
  async (line) => {
    expect(await outcome(`Host 10.0.0.1\n  ${line}\n`)).toMatch(
      new RegExp(
        `^db-1: ssh_config sets ${line} for 10\\.0\\.0\\.1, which keeps ssh from running a command\n {2}nothing was connected to\\.`,
      ),
    );
    expect(await outcome(`Host 10.0.0.2\n  ${line}\n`)).toBe('library');
  },
);

test.each([
  [
    'an option that makes no difference',
    'ForwardX11 yes\nForwardAgent yes\nCompression yes\nStrictHostKeyChecking no',
  ],
  [
    'what keeps a connection open',
    'ControlMaster auto\nControlPath ~/.ssh/%C\nControlPersist 10m\nServerAliveInterval 5',
  ],
  ['a command that is not permitted', 'LocalCommand knock %h'],
  [
    'the usual value, written out',
    'CheckHostIP no\nSessionType default\nRekeyLimit default none\nPKCS11Provider none',
  ],
  ['keys among other methods', 'PreferredAuthentications publickey,password\nGSSAPIAuthentication yes'],
  ['forwarded ports', 'LocalForward 8080 localhost:80\nDynamicForward 1080\nExitOnForwardFailure yes'],
  // /etc/ssh/ssh_config of Debian 12.
  ['the file of Debian', 'SendEnv LANG LC_*\nHashKnownHosts yes\nGSSAPIAuthentication yes'],
])('%s: the library connects', async (_, lines) => {
  expect(await outcome(`Host *\n  ${lines.replaceAll('\n', '\n  ')}\n`)).toBe('library');
});

test('the lists of algorithms of Fedora are followed, as far as the library has them, in their order', async () => {
  // The policy DEFAULT of crypto-policies in /etc/crypto-policies/back-ends/openssh.config, as far
  // as OpenSSH 9.2 knows it.
  sshWith(`Match final all
  Ciphers aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr,aes128-gcm@openssh.com,aes128-ctr
  MACs hmac-sha2-256-etm@openssh.com,hmac-sha1-etm@openssh.com,umac-128-etm@openssh.com,hmac-sha2-512-etm@openssh.com
  KexAlgorithms curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,diffie-hellman-group16-sha512
  HostKeyAlgorithms ecdsa-sha2-nistp256,ssh-ed25519,ssh-ed25519-cert-v01@openssh.com,rsa-sha2-256
  PubkeyAcceptedAlgorithms ecdsa-sha2-nistp256,ssh-ed25519,rsa-sha2-256,rsa-sha2-512
  CASignatureAlgorithms ecdsa-sha2-nistp256,ssh-ed25519
  RequiredRSASize 2048
  GSSAPIAuthentication yes
  ForwardX11Trusted yes
  SendEnv LANG LC_CTYPE
`);
  const { algorithms, leastRsaBits } = await resolveSshConfig('db-1', '10.0.0.1');
  expect(leastRsaBits).toBe(2048);
  expect(algorithms.ciphers).toEqual([
    'aes256-gcm@openssh.com',
    'chacha20-poly1305@openssh.com',
    'aes256-ctr',
    'aes128-gcm@openssh.com',
    'aes128-ctr',
  ]);
  expect(algorithms.macs).toEqual([
    'hmac-sha2-256-etm@openssh.com',
    'hmac-sha1-etm@openssh.com',
    'hmac-sha2-512-etm@openssh.com',
  ]);
  expect(algorithms.kex?.[0]).toBe('curve25519-sha256');
});

test('an option of a newer ssh changes nothing with the usual value, and else OpenSSH connects', async () => {
  const folder = temporaryDirectory();
  const newer = (value: string) => `/usr/bin/ssh "$@" || exit; echo "newestoption ${value}"; exit`;
  writeFileSync(join(folder, 'config'), '');
  const script = (value: string) => `if [ "$1" = -F ]; then ${newer('no')}; fi
set -- -F ${folder}/config "$@"
${newer(value)}`;
  for (const [value, isBeyondLibrary] of [
    ['no', false],
    ['maybe', true],
  ] as const) {
    standInFor('ssh', script(value));
    expect(await resolveSshConfig('db-1', '10.0.0.1')).toMatchObject({ isBeyondLibrary });
  }
});

test('with jump hosts in the inventory no ProxyCommand is needed', async () => {
  sshWith('ProxyCommand nc %h %p\n');
  const config = await resolveSshConfig('db-1', '10.0.0.1', {}, { jumps: true });
  expect(config.isBeyondLibrary).toBe(false);
});
