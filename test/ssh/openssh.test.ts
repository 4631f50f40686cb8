import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../lib/engine/host/connection.ts';
import type { Unreachable } from '../../lib/engine/host/connection-errors.ts';
import {
  processesWith,
  standInFor,
  temporaryDirectory,
} from '../../lib/engine/host/testing/local-connection.ts';
import { settingsFor } from '../../lib/engine/host/testing/real-ssh.ts';
import type { ConnectOptions } from '../../lib/engine/host/transport/transport.ts';
import type { ConnectionSettings } from '../../lib/engine/inventory/inventory.ts';
import { describeProblem } from '../../lib/engine/problem/problem.ts';
import { mapWithForks } from '../../lib/engine/run/limit.ts';
import type { Ask } from '../../lib/engine/secret/ask.ts';
import { inEveryForm } from '../faults/seed.ts';
import { installMissing } from '../install-missing.ts';
import {
  agentWith,
  newKey,
  newUser,
  open,
  publicKey,
  said,
  sshConfig,
  sshdWith,
  twoFactors,
} from './login.ts';
import { freePort, installSshd, type Sshd, startSshd } from './sshd.ts';

let sshd: Sshd;

beforeAll(async () => {
  installSshd();
  sshd = await startSshd('LogLevel VERBOSE');
  vi.stubEnv('SSH_AUTH_SOCK', '');
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await sshd?.stop();
});

/** Signs a key: a certificate is beside it then. */
function certify(authority: string, key: string, ...options: string[]): void {
  execFileSync('ssh-keygen', ['-q', '-s', authority, '-I', 'test', ...options, `${key}.pub`], {
    stdio: 'ignore',
  });
}

test('a certificate of the user logs in where no plain key does', async () => {
  const authority = newKey();
  const own = await sshdWith(`AuthorizedKeysFile none\nTrustedUserCAKeys ${authority}.pub`);
  const key = newKey();
  sshConfig('IdentityFile none');
  expect(await said(own, { identityFile: key })).toMatch(/root could not log in/);
  certify(authority, key, '-n', 'root');
  expect(await said(own, { identityFile: key })).toBe('in');
  // By ssh_config, under another name.
  const other = join(temporaryDirectory(), 'cert.pub');
  copyFileSync(`${key}-cert.pub`, other);
  rmSync(`${key}-cert.pub`);
  sshConfig(`IdentityFile ${key}`, `CertificateFile ${other}`);
  expect(await said(own, { identityFile: undefined })).toBe('in');
});

test.each([
  ['expired', ['-n', 'root', '-V', '20200101Z:20200102Z'], 'expired at 2020-01-02T00:00:00Z'],
  ['not yet valid', ['-n', 'root', '-V', '20990101Z:20990102Z'], 'is not valid before 2099-01-01T00:00:00Z'],
  [
    'of another user',
    ['-n', 'deploy,ops'],
    'is for deploy, ops and not for root, unless the principals of its sshd say otherwise',
  ],
])('a certificate of the user that is %s is named', async (_, options, fault) => {
  const authority = newKey();
  const own = await sshdWith(`AuthorizedKeysFile none\nTrustedUserCAKeys ${authority}.pub`);
  sshConfig('IdentityFile none');
  for (const kind of ['ed25519', 'ecdsa', 'rsa']) {
    const key = join(temporaryDirectory(), kind);
    execFileSync('ssh-keygen', ['-q', '-t', kind, '-N', '', '-f', key]);
    certify(authority, key, ...options);
    expect(await said(own, { identityFile: key })).toContain(
      `\n  ${key}-cert.pub ${fault}; add a public key to ~/.ssh/authorized_keys of root there; or its sshd does`,
    );
  }
  // One that is damaged says nothing, and ends nothing.
  const damaged = newKey();
  writeFileSync(`${damaged}-cert.pub`, 'ssh-ed25519-cert-v01@openssh.com AAAA');
  const refusal = await said(own, { identityFile: damaged });
  expect(refusal).toMatch(/^db-1: root could not log in at 127\.0\.0\.1: no key was accepted /);
  expect(refusal).not.toMatch(/is for|expired/);
});

test('a certificate of the host is trusted by @cert-authority, and by nothing else', async () => {
  const authority = newKey();
  const host = newKey();
  certify(authority, host, '-h', '-n', '127.0.0.1');
  const own = await sshdWith(`HostKey ${host}\nHostCertificate ${host}-cert.pub`);
  const known = (text: string): Partial<ConnectionSettings> => {
    const knownHostsFile = join(temporaryDirectory(), 'known');
    writeFileSync(knownHostsFile, text);
    return { hostKeys: [], knownHostsFile };
  };
  sshConfig('HostKeyAlgorithms ssh-ed25519-cert-v01@openssh.com');
  expect(await said(own, known(`@cert-authority * ${publicKey(authority)}\n`))).toBe('in');
  expect(await said(own, known(`@cert-authority * ${publicKey(newKey())}\n`))).toMatch(
    /^db-1: the host key of .* is not known, so it is not trusted/,
  );
  expect(
    await said(own, known(`@cert-authority * ${publicKey(authority)}\n@revoked * ${publicKey(authority)}\n`)),
  ).toMatch(/^db-1: THE HOST KEY OF .* IS REVOKED/);
});

test.each([
  [
    'expired',
    ['-n', '127.0.0.1', '-V', '20200101:20200102'],
    /; if the clock of this machine is right, its authority has to renew it$/,
  ],
  [
    'not yet valid',
    ['-n', '127.0.0.1', '-V', '20990101:20990102'],
    /; if the clock of this machine is right, its authority has to renew it$/,
  ],
  [
    'name is not a listed principal',
    ['-n', 'db-1.example'],
    /; its authority has to make one for the name 127\.0\.0\.1$/,
  ],
])('a certificate of the host that is invalid is named with its reason: %s', async (why, options, advice) => {
  const [authority, host] = [newKey(), newKey()];
  certify(authority, host, '-h', ...options);
  const own = await sshdWith(`HostKey ${host}\nHostCertificate ${host}-cert.pub`);
  const knownHostsFile = join(temporaryDirectory(), 'known');
  writeFileSync(knownHostsFile, `@cert-authority * ${publicKey(authority)}\n`);
  sshConfig('');
  const refusal = await said(own, { hostKeys: [], knownHostsFile });
  expect(refusal).toContain(
    `db-1: the certificate of [127.0.0.1]:${own.port} is not valid, so its key is not trusted\n  ssh of this machine says: Certificate invalid: ${why}\n  nothing was sent to it. The certificate is the file of HostCertificate in its sshd_config; `,
  );
  expect(refusal).toMatch(advice);
  expect(refusal).not.toMatch(/keyscan|host_key/);
});

test('servers with algorithms that the library lacks: post-quantum key exchange, umac', async () => {
  for (const line of [
    'KexAlgorithms sntrup761x25519-sha512@openssh.com',
    'Ciphers aes128-ctr\nMACs umac-128-etm@openssh.com',
  ]) {
    const own = await sshdWith(line);
    expect(await said(own)).toBe('in');
  }
});

test('a key in the format PKCS#8, and with a passphrase that is asked for', async () => {
  const key = newKey();
  const pkcs8 = join(temporaryDirectory(), 'pkcs8');
  writeFileSync(pkcs8, '', { mode: 0o600 });
  execFileSync(
    'openssl',
    ['genpkey', '-algorithm', 'RSA', '-out', pkcs8, '-pkeyopt', 'rsa_keygen_bits:2048'],
    {
      stdio: 'ignore',
    },
  );
  const own = await sshdWith('');
  appendFileSync(`${own.clientKey}.pub`, execFileSync('ssh-keygen', ['-y', '-f', pkcs8]));
  expect(await said(own, { identityFile: pkcs8 })).toBe('in');

  appendFileSync(`${own.clientKey}.pub`, `${publicKey(key)}\n`);
  execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'pass phrase', '-f', key], { stdio: 'ignore' });
  const asked: string[] = [];
  const ask: Ask = async (question) => {
    asked.push(question);
    return 'pass phrase';
  };
  expect(await said(own, { identityFile: key, client: 'openssh' }, ask)).toBe('in');
  expect(asked).toEqual([`db-1: Enter passphrase for key '${key}': `]);
});

test('a key that a passphrase locks is named where nobody can be asked', async () => {
  installMissing([['/usr/bin/socat', 'socat']]);
  const own = await sshdWith('');
  const key = newKey();
  writeFileSync(`${own.clientKey}.pub`, publicKey(key));
  execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'pass phrase', '-f', key], { stdio: 'ignore' });
  const way = 'ProxyCommand socat - TCP:%h:%p';
  sshConfig(way, `IdentityFile ${key}`);
  const start = 'start an agent and add it: eval "$(ssh-agent)" && ssh-add';
  expect(await said(own, { identityFile: undefined })).toBe(
    `db-1: root could not log in at 127.0.0.1: the server accepts the key ${key}, which is locked with a passphrase\n  ${start} ${key}`,
  );
  const agent = `IdentityAgent ${agentWith(newKey())}`;
  sshConfig(way, `IdentityFile ${key}`, agent);
  expect(await said(own, { identityFile: undefined })).toMatch(/\n {2}add it to the agent: ssh-add \S+$/);

  const pkcs8 = join(temporaryDirectory(), 'pkcs8');
  execFileSync(
    'openssl',
    [
      ...['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
      ...['-aes256', '-pass', 'pass:pass phrase', '-out', pkcs8],
    ],
    { stdio: 'ignore' },
  );
  chmodSync(pkcs8, 0o600);
  writeFileSync(`${own.clientKey}.pub`, execFileSync('ssh-keygen', ['-y', '-P', 'pass phrase', '-f', pkcs8]));
  sshConfig('IdentityFile none');
  expect(await said(own, { identityFile: pkcs8 })).toBe(
    `db-1: the key file ${pkcs8} is locked with a passphrase\n  ${start} ${pkcs8}`,
  );
  expect(await said(own, { identityFile: pkcs8 }, async () => 'pass phrase')).toBe('in');
  // Which key of the agent it is, nobody can tell.
  sshConfig('IdentityFile none', agent);
  expect(await said(own, { identityFile: pkcs8 })).toContain(
    `\n  ${pkcs8} is locked with a passphrase: add it to the agent: ssh-add ${pkcs8}; `,
  );
});

test('a key on a security token (PKCS#11), whose PIN is asked for', async () => {
  installMissing([['/usr/bin/softhsm2-util', 'softhsm2']]);
  const provider = '/usr/lib/softhsm/libsofthsm2.so';
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'conf'), `directories.tokendir = ${folder}\n`);
  vi.stubEnv('SOFTHSM2_CONF', join(folder, 'conf'));
  const key = join(folder, 'rsa');
  execFileSync('openssl', ['genpkey', '-algorithm', 'RSA', '-out', key, '-pkeyopt', 'rsa_keygen_bits:2048'], {
    stdio: 'ignore',
  });
  const token = ['--token', 'test', '--pin', '123456'];
  execFileSync('softhsm2-util', [
    '--init-token',
    '--free',
    '--label',
    'test',
    '--so-pin',
    '12345678',
    ...token.slice(2),
  ]);
  execFileSync('softhsm2-util', ['--import', key, ...token, '--label', 'key', '--id', '01']);
  const own = await sshdWith('');
  writeFileSync(`${own.clientKey}.pub`, execFileSync('ssh-keygen', ['-D', provider]));
  sshConfig('IdentityFile none', `PKCS11Provider ${provider}`);
  const asked: string[] = [];
  const ask: Ask = async (question) => {
    asked.push(question);
    return '123456';
  };
  expect(await said(own, { identityFile: undefined }, ask)).toBe('in');
  expect(asked).toEqual([expect.stringMatching(/^db-1: Enter PIN for 'test'/)]);
  expect(await said(own, { identityFile: undefined })).toMatch(/root could not log in at 127\.0\.0\.1/);
});

/**
 * A key on an authenticator (FIDO) in software: the path of its private part.
 *
 * @param options of ssh-keygen
 */
function keyOnAuthenticator(...options: string[]): string {
  installMissing([
    ['/usr/bin/gcc', 'gcc'],
    ['/usr/include/openssl/ec.h', 'libssl-dev'],
    ['/usr/lib/openssh/ssh-sk-helper', 'openssh-client'],
  ]);
  const folder = temporaryDirectory();
  const [library, key] = [join(folder, 'authenticator.so'), join(folder, 'key')];
  const source = new URL('authenticator.c', import.meta.url).pathname;
  execFileSync('gcc', [
    ...['-shared', '-fPIC', '-Wall', '-Wno-deprecated-declarations'],
    ...['-o', library, source, '-lcrypto'],
  ]);
  vi.stubEnv('SSH_SK_PROVIDER', library);
  const kind = ['-t', 'ecdsa-sk', '-N', '', '-C', '', '-f', key];
  execFileSync('ssh-keygen', ['-q', ...kind, ...options], { stdio: ['ignore', 'ignore', 'inherit'] });
  return key;
}

test('a key on an authenticator (FIDO): the operator is told to touch it', async () => {
  const key = keyOnAuthenticator();
  const own = await sshdWith('');
  writeFileSync(`${own.clientKey}.pub`, publicKey(key));
  sshConfig('SecurityKeyProvider $SSH_SK_PROVIDER');
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => told.mockRestore());
  expect(await said(own, { identityFile: key }, async () => '')).toBe('in');
  const lines = told.mock.calls.map(([text]) => String(text));
  expect(lines).toEqual([
    expect.stringMatching(/^db-1: Confirm user presence for key ECDSA-SK SHA256:\S+\n$/),
  ]);
});

test('a key on an authenticator that wants a PIN: it is asked for, and a wrong one logs nobody in', async () => {
  const key = keyOnAuthenticator('-O', 'verify-required');
  vi.stubEnv('AUTHENTICATOR_PIN', '4711');
  const own = await sshdWith('PubkeyAuthOptions verify-required');
  writeFileSync(`${own.clientKey}.pub`, `verify-required ${publicKey(key)}`);
  sshConfig('SecurityKeyProvider $SSH_SK_PROVIDER');
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => told.mockRestore());
  const asked: string[] = [];
  const answering = (pin: string): Ask => {
    return async (question) => {
      asked.push(question);
      return pin;
    };
  };
  expect(await said(own, { identityFile: key }, answering('4711'))).toBe('in');
  expect(asked).toEqual([expect.stringMatching(/^db-1: Enter PIN .*ECDSA-SK/)]);
  expect(await said(own, { identityFile: key }, answering('0000'))).toMatch(/root could not log in/);
});

test('a second factor by keyboard-interactive is asked for, by each client at first', async () => {
  const own = await sshdWith(twoFactors);
  const user = newUser();
  const asked: string[] = [];
  const ask: Ask = async (question) => {
    asked.push(question);
    expect(processesWith('right-password')).toEqual([]);
    return 'right-password';
  };
  for (const client of [undefined, 'openssh'] as const) {
    asked.length = 0;
    expect(await said(own, { user, client }, ask)).toBe('in');
    expect(asked).toEqual([expect.stringMatching(/^db-1: \(.*\) Password: $/)]);
    // Nobody can be asked.
    expect(await said(own, { user, client })).toMatch(
      new RegExp(
        `^db-1: ${user} could not log in at 127\\.0\\.0\\.1: a key was accepted, and the server wants more; the server offers: keyboard-interactive.*\\n.*nobody can be asked for a password`,
        's',
      ),
    );
  }
  // A key of the agent.
  sshConfig(`IdentityAgent ${agentWith(own.clientKey)}`, 'IdentityFile none');
  expect(await said(own, { user, identityFile: undefined }, ask)).toBe('in');
});

test('a wrong answer and Ctrl-C at a question', async () => {
  const own = await sshdWith(twoFactors);
  const user = newUser();
  sshConfig('NumberOfPasswordPrompts 1');
  expect(await said(own, { user }, async () => 'wrong')).toMatch(/^db-1: .* could not log in/);
  const interrupted = said(own, { user }, () => Promise.reject(new Error('Ctrl-C')));
  expect(await interrupted).toBe('db-1: interrupted while connecting');
});

test("the operator's own program for questions is used where there is no terminal", async () => {
  const own = await sshdWith(twoFactors);
  const program = join(temporaryDirectory(), 'ask');
  writeFileSync(program, '#!/bin/sh\necho right-password\n', { mode: 0o700 });
  vi.stubEnv('SSH_ASKPASS', program);
  onTestFinished(() => void vi.stubEnv('SSH_ASKPASS', undefined));
  expect(await said(own, { user: newUser() })).toBe('in');
});

test('the own words of a server are shown, and no guess beside them', async () => {
  const banner = join(temporaryDirectory(), 'banner');
  writeFileSync(banner, 'Closed for moving.\nAsk at desk 5.\n');
  const own = await sshdWith(`Banner ${banner}\nMaxAuthTries 1`);
  const stranger = newKey();
  for (const client of [undefined, 'openssh'] as const) {
    sshConfig('IdentityFile none');
    const refusal = await said(own, { identityFile: stranger, client });
    expect(refusal).toMatch(
      /^db-1: root could not log in at 127\.0\.0\.1: no key was accepted .*\n {2}the server says: Closed for moving\.\n {2}Ask at desk 5\.\n/,
    );
    expect(refusal).not.toMatch(/authorized_keys|ssh-copy-id/);
    sshConfig(`IdentityFile ${newKey()}`);
    expect(await said(own, { identityFile: stranger, client })).toContain('Too many authentication failures');
  }
});

test('the words of a server before its version are shown, and no guess beside them', async () => {
  for (const [words, stays, wanted] of [
    [
      'Not allowed at this time\r\n',
      false,
      /^ended the connection before the login\n {2}the server says: Not allowed at this time$/,
    ],
    [
      'HTTP/1.1 400 Bad Request\r\n\r\n',
      false,
      /^ended .*\n {2}the server says: HTTP\/1\.1 400 Bad Request$/,
    ],
    ['220 mail ESMTP\r\n', true, /^within 2 s\n {2}the server says: 220 mail ESMTP$/],
    ['proxy: no way\nSSH-2.0-proxy\r\n', false, /^ended .*\n {2}the server says: proxy: no way$/],
  ] as const) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.write(words, () => stays || socket.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    for (const client of [undefined, 'openssh'] as const) {
      const refusal = await said(sshd, { port, client }, { timeout: stays ? 2 : 30 });
      const [, end = ''] = refusal.split(` 127.0.0.1 port ${port} `);
      expect([client, words, end || refusal]).toEqual([client, words, expect.stringMatching(wanted)]);
    }
  }
});

test('words of the own ssh and of a ProxyCommand are not taken for those of the server', async () => {
  installMissing([['/usr/bin/socat', 'socat']]);
  const banner = join(temporaryDirectory(), 'banner');
  writeFileSync(banner, 'Closed for moving.\nAsk at desk 5.\n');
  const open = newKey();
  chmodSync(open, 0o644);
  const junk = join(temporaryDirectory(), 'junk');
  writeFileSync(junk, 'no key\n', { mode: 0o600 });
  for (const [settings, asServer] of [
    ['', /: publickey\n {2}ssh of this machine says: /],
    [
      `Banner ${banner}`,
      /\n {2}the server says: Closed for moving\.\n {2}Ask at desk 5\.\n {2}ssh of this machine says: /,
    ],
  ] as const) {
    const own = await sshdWith(settings);
    appendFileSync(`${own.clientKey}.pub`, publicKey(open));
    sshConfig(
      `IdentityFile ${open}`,
      `IdentityFile ${junk}`,
      'ProxyCommand sh -c "echo the proxy works >&2; exec socat - TCP:%h:%p"',
    );
    const refusal = await said(own, { identityFile: undefined });
    expect(refusal).toMatch(asServer);
    const [, ofSsh = ''] = refusal.split('\n  ssh of this machine says: ');
    expect(refusal).toContain('ssh of this machine says: the proxy works');
    expect(ofSsh).toMatch(/UNPROTECTED PRIVATE KEY FILE/);
    expect(ofSsh).toContain(`Load key "${junk}"`);
    expect(refusal).not.toMatch(/authorized_keys|ssh-copy-id/);
  }
});

test('what a ProxyCommand says until the time limit is shown, and no firewall is blamed', async () => {
  // The same limit of ssh itself may be first, as it is on a busy machine.
  const ofSsh = ['Connection timed out during banner exchange', 'Connection to UNKNOWN port 65535 timed out'];
  const asks = 'echo To sign in, visit https://login.example/device >&2';
  const saysLimit = ofSsh.map((line) => `echo ${line} >&2`).join('; ');
  for (const way of [
    `${asks}; exec sleep 30`,
    `${asks}; ${saysLimit}; exec sleep 30`,
    `${asks}; ${saysLimit}`,
  ]) {
    sshConfig(`ProxyCommand sh -c "${way}"`);
    expect(await said(sshd, {}, { timeout: 2 }), way).toBe(
      `db-1: no login at 127.0.0.1 port ${sshd.port} within 2 s\n  ssh of this machine says: To sign in, visit https://login.example/device`,
    );
  }
});

test('an option of ssh_config by which ssh tries no key is named', async () => {
  for (const option of [
    'PubkeyAuthentication no',
    'PreferredAuthentications password,keyboard-interactive',
  ]) {
    sshConfig(option);
    const refusal = await said(sshd);
    expect(refusal).toContain(
      `\n  ${option} of ssh_config keeps ssh from trying a key: change it for this host; try: ssh -v`,
    );
    expect(refusal).not.toMatch(/authorized_keys|ssh-copy-id/);
  }
});

test('a connection that breaks off at the login of a server with a banner is tried again', async () => {
  const folder = mkdtempSync('/run/breaks-');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  const [keys, broken, banner] = [join(folder, 'keys'), join(folder, 'broken'), join(folder, 'banner')];
  writeFileSync(banner, 'Authorised use only.\n');
  const own = await sshdWith(
    `Banner ${banner}\nAuthorizedKeysFile none\nAuthorizedKeysCommand ${keys} %k\nAuthorizedKeysCommandUser root`,
  );
  // The banner comes with the answer to the first key. sshd is killed at the second one.
  const [, key = ''] = publicKey(own.clientKey).split(' ');
  const breaks = `[ -e ${broken} ] || { : >${broken}; kill -9 "$PPID"; exit 1; }`;
  const script = `[ "$1" = ${key} ] || exit 0\n${breaks}\ncat ${own.clientKey}.pub`;
  writeFileSync(keys, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  sshConfig(`IdentityFile ${own.clientKey}`);
  const identityFile = newKey();
  for (const client of [undefined, 'openssh'] as const) {
    rmSync(broken, { force: true });
    const once = await said(own, { client, identityFile });
    expect(once).toMatch(
      /^db-1: 127\.0\.0\.1 port \d+ ended the connection during the login\n {2}the server says: Authorised use only\./,
    );
    expect(once).not.toMatch(/could not log in|no key/);
    rmSync(broken, { force: true });
    expect(await said(own, { client, identityFile }, { retries: 1 })).toBe('in');
  }
});

test('an expired account and a closed machine are shown in the words of the server', async () => {
  const user = newUser();
  execFileSync('chage', ['-E', '0', user]);
  const own = await sshdWith('UsePAM yes');
  for (const client of [undefined, 'openssh'] as const)
    expect(await said(own, { user, client })).toMatch(
      /\n {2}the server says: Your account has expired; .*\n {2}try: ssh -v -p \d+ rpct\w+@127\.0\.0\.1$/,
    );

  const closed = await startSshd('UsePAM yes', {
    inNamespace: 'mount -t tmpfs none /run && mkdir /run/sshd && echo "back at noon" >/run/nologin',
  });
  onTestFinished(() => closed.stop());
  const other = newUser();
  for (const client of [undefined, 'openssh'] as const)
    expect(await said(closed, { user: other, client })).toMatch(/back at noon/);
});

test('LogVerbose of ssh_config does not hide the login', async () => {
  sshConfig('LogVerbose *');
  expect(await said(sshd, { client: 'openssh' }, { timeout: 3 })).toBe('in');
});

test('one session at a time', async () => {
  const own = await sshdWith('MaxSessions 1');
  const connection = await open(own, { client: 'openssh' });
  const codes = await Promise.all([1, 2, 3, 4, 5].map((at) => connection.exec(`sleep 0.2; exit ${at}`)));
  expect(codes.map(({ code }) => code)).toEqual([1, 2, 3, 4, 5]);
});

test('a host that is silent, a name that is unknown, and Ctrl-C meanwhile', async () => {
  const silent = createServer(() => {});
  const port = await freePort();
  await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  const connecting = (more: Partial<ConnectionSettings>, options: ConnectOptions) =>
    connect('db-1', settingsFor(sshd, { client: 'openssh', ...more }), { retries: 0, ...options }).then(
      () => expect.fail('connected'),
      (error: unknown) => describeProblem(error as Unreachable),
    );
  expect(await connecting({ port }, { timeout: 1 })).toBe(
    `db-1: no answer from 127.0.0.1 port ${port} within 1 s\n  is the host up, and does a firewall let us through?`,
  );
  expect(await connecting({ address: 'no-such-host.invalid' }, {})).toMatch(
    /^db-1: the name no-such-host\.invalid is not known\n|^db-1: the name server did not answer/,
  );
  const closing = createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'));
  const other = await freePort();
  await new Promise<void>((resolve) => closing.listen(other, '127.0.0.1', resolve));
  onTestFinished(() => void closing.close());
  expect(await connecting({ port: other }, {})).toMatch(/ended the connection before the login\n/);
  const interrupt = new AbortController();
  const interrupted = connecting({ port }, { signal: interrupt.signal, timeout: 600 });
  await vi.waitFor(() => expect(processesWith(`-p ${port} -- 127.0.0.1`)).not.toEqual([]), 60_000);
  interrupt.abort();
  expect(await interrupted).toBe('db-1: interrupted while connecting');
  await vi.waitFor(() => expect(processesWith(`-p ${port} -- 127.0.0.1`)).toEqual([]), 60_000);
});

test('a program ssh that connects to nothing, and none at all', async () => {
  standInFor('ssh', '[ "$1" = -M ] && exit 1; exec /usr/bin/ssh "$@"');
  expect(await said(sshd, { client: 'openssh' })).toMatch(
    /^db-1: no SSH connection to 127\.0\.0\.1 port \d+: ssh ended without a word\n/,
  );
  const before = process.env.PATH;
  onTestFinished(() => void vi.stubEnv('PATH', before));
  vi.stubEnv('PATH', temporaryDirectory());
  expect(await said(sshd, { client: 'openssh' })).toBe(
    'db-1: there is no program ssh for ssh.client of the inventory\n  nothing was connected to. Install OpenSSH (openssh-client)',
  );
});

test('two jump hosts in a row, each with options of its own', async () => {
  const [outer, inner] = [await sshdWith('LogLevel VERBOSE'), await sshdWith('LogLevel VERBOSE')];
  const known = join(temporaryDirectory(), 'known');
  const line = ({ port, hostKey }: Sshd) => `[127.0.0.1]:${port} ${hostKey}\n`;
  writeFileSync(known, line(inner) + line(sshd));
  const block = (name: string, { port, clientKey }: Sshd, ...more: string[]) =>
    [
      `Host ${name}`,
      'HostName 127.0.0.1',
      'User root',
      `Port ${port}`,
      `IdentityFile ${clientKey}`,
      ...more,
    ].join('\n  ');
  sshConfig(
    block('outer', outer, 'ProxyCommand socat - TCP:%h:%p', 'MACs umac-128@openssh.com'),
    block('inner', inner, 'KexAlgorithms sntrup761x25519-sha512@openssh.com', 'ProxyJump outer'),
    block('target', sshd, 'ProxyJump inner'),
    `Host *\n  IdentitiesOnly yes`,
  );
  installMissing([['/usr/bin/socat', 'socat']]);
  const reach = { address: 'target', port: undefined, user: undefined, identityFile: undefined };
  const through = { ...reach, hostKeys: [], knownHostsFile: known };
  // The key of each jump host is verified.
  expect(await said(sshd, through)).toMatch(/^db-1 \(jump host outer\): the host key of .* is not known/);
  appendFileSync(known, line(outer));
  expect(await said(sshd, through)).toBe('in');
  for (const jump of [outer, inner])
    await vi.waitFor(() => expect(jump.log()).toMatch(/Accepted publickey/), 60_000);
  // The host does not answer the last jump host.
  const nowhere = await freePort();
  expect(await said(sshd, { ...through, port: nowhere })).toMatch(
    new RegExp(`^db-1: jump host inner could not reach 127\\.0\\.0\\.1 port ${nowhere}: .*refused`, 'i'),
  );
  // Reached without a jump, whatever ssh_config says.
  expect(await said(sshd, { ...through, jump: ['none'] })).toBe('in');
});

test('the key of the inventory comes first; OpenSSH tries those of ssh_config before those of the agent', async () => {
  const [named, held, configured] = [newKey(), newKey(), newKey()];
  const own = await sshdWith('LogLevel VERBOSE\nMaxAuthTries 20');
  sshConfig(`IdentityFile ${configured}`, `IdentityAgent ${agentWith(held)}`);
  const shown = (key: string) => /SHA256:\S+/.exec(execFileSync('ssh-keygen', ['-lf', key]).toString())?.[0];
  for (const client of [undefined, 'openssh'] as const) {
    const from = own.log().length;
    expect(await said(own, { identityFile: named, client })).toMatch(/could not log in/);
    // By OpenSSH first without the agent, and then with it.
    const order = client ? [named, configured, held, named, configured] : [named, held, configured];
    const offered = () =>
      own
        .log()
        .slice(from)
        .matchAll(/Failed publickey .*(SHA256:\S+)/g);
    await vi.waitFor(() => expect([...offered()].map(([, key]) => key)).toEqual(order.map(shown)), 60_000);
  }
});

test('the key of the inventory logs in beside an agent with more keys than the server allows', async () => {
  const own = await sshdWith('LogLevel VERBOSE\nMaxAuthTries 3');
  const held = Array.from({ length: 8 }, () => newKey());
  sshConfig(`IdentityAgent ${agentWith(...held)}`, 'IdentityFile none');
  for (const client of [undefined, 'openssh'] as const) expect(await said(own, { client })).toBe('in');
  // The agent has that key, too: it signs.
  sshConfig(`IdentityAgent ${agentWith(...held, own.clientKey)}`, 'IdentityFile none');
  const publicPart = join(temporaryDirectory(), 'key.pub');
  copyFileSync(`${own.clientKey}.pub`, publicPart);
  for (const identityFile of [own.clientKey, publicPart])
    expect(await said(own, { client: 'openssh', identityFile })).toBe('in');
});

test('a key of the agent logs in where that of the inventory is refused, and before any question', async () => {
  const own = await sshdWith('UsePAM yes\nKbdInteractiveAuthentication yes');
  sshConfig(`IdentityAgent ${agentWith(own.clientKey)}`, 'IdentityFile none');
  const ask = vi.fn(async () => '');
  expect(await said(own, { client: 'openssh', identityFile: newKey() }, ask)).toBe('in');
  expect(ask).not.toHaveBeenCalled();
});

const clients = [undefined, 'openssh'] as const;

/** An sshd that takes a key of the agent, too. The agent asks before it signs with that one. */
async function hostOfAskingAgent(program: string) {
  const own = await sshdWith('');
  const asked = newKey();
  appendFileSync(`${own.clientKey}.pub`, `${publicKey(asked)}\n`);
  vi.stubEnv('SSH_ASKPASS', program);
  vi.stubEnv('SSH_ASKPASS_REQUIRE', 'force');
  const agent = agentWith('-c', asked);
  vi.stubEnv('SSH_ASKPASS', undefined);
  vi.stubEnv('SSH_ASKPASS_REQUIRE', undefined);
  return { own, agent };
}

test('an agent that refuses to sign with a key keeps no other key from logging in', async () => {
  const { own, agent } = await hostOfAskingAgent('/bin/false');
  for (const client of clients) {
    sshConfig(`IdentityAgent ${agent}`, `IdentityFile ${own.clientKey}`);
    expect(await said(own, { identityFile: undefined, client })).toBe('in');
    sshConfig(`IdentityAgent ${agent}`, 'IdentityFile none');
    expect(await said(own, { identityFile: undefined, client })).toMatch(
      /^db-1: root could not log in at 127\.0\.0\.1: no key was accepted .*\n {2}ssh of this machine says: sign_and_send_pubkey: .* agent refused operation\n/,
    );
  }
});

test('an agent that refuses to sign is named where there is no ssh to try other keys', async () => {
  const { own, agent } = await hostOfAskingAgent('/bin/false');
  const { PATH: path } = process.env;
  onTestFinished(() => {
    vi.stubEnv('PATH', path);
    vi.stubEnv('SSH_AUTH_SOCK', '');
  });
  vi.stubEnv('PATH', temporaryDirectory());
  vi.stubEnv('SSH_AUTH_SOCK', agent);
  expect(await said(own, { identityFile: undefined })).toMatch(
    /^db-1: the agent at \S+ did not sign for root: Agent responded with failure\n {2}try: ssh -v -p \d+ root@127\.0\.0\.1$/,
  );
});

test('an agent that waits for its user is named, and no firewall; a locked one is named, too', async () => {
  const program = join(temporaryDirectory(), 'ask');
  writeFileSync(program, '#!/bin/sh\nexec sleep 8\n', { mode: 0o700 });
  for (const client of clients) {
    const { own, agent } = await hostOfAskingAgent(program);
    sshConfig(`IdentityAgent ${agent}`, 'IdentityFile none');
    expect(await said(own, { identityFile: undefined, client }, { timeout: 4 })).toBe(
      `db-1: the agent at ${agent} was asked to sign for root, and did not answer within 4 s
  it may wait for you, for a confirmation, a PIN or a touch; or allow more: --timeout`,
    );
  }
  const empty = agentWith(newKey());
  execFileSync('ssh-add', ['-q', '-D'], { env: { ...process.env, SSH_AUTH_SOCK: empty }, stdio: 'ignore' });
  sshConfig(`IdentityAgent ${empty}`, 'IdentityFile none');
  expect(await said(sshd, { identityFile: undefined })).toContain(
    `; the agent at ${empty} shows no key: it has none, or is locked (ssh-add -X)`,
  );
});

test('many hosts, and no ssh is left', async () => {
  const own = await sshdWith('');
  const hosts = Array.from({ length: inEveryForm ? 100 : 20 }, (_, at) => `db-${at + 1}`);
  const connections = await mapWithForks(hosts, inEveryForm ? 25 : 10, (name) =>
    open(own, { client: 'openssh' }, { timeout: 60 }, name),
  );
  const printed = await Promise.all(
    connections.map(async (connection) =>
      (await connection.exec(`echo ${connection.name}`)).stdout.toString(),
    ),
  );
  expect(printed).toEqual(hosts.map((name) => `${name}\n`));
  await Promise.all(connections.map((connection) => connection.close()));
  await vi.waitFor(() => expect(processesWith(`-p ${own.port} -- 127.0.0.1`)).toEqual([]), 60_000);
});

test('no ssh and no file is left where this program is killed', async () => {
  const own = await sshdWith('');
  const [folder, temporary] = [temporaryDirectory(), temporaryDirectory()];
  const program = join(folder, 'program.mjs');
  const root = new URL('../../', import.meta.url).pathname;
  writeFileSync(
    program,
    `import { connect } from '${root}lib/engine/host/connection.ts';
const connection = await connect('db-1', JSON.parse(process.argv[2]), { retries: 0 });
connection.exec('sleep 60');
await connection.exec('true');
console.log('connected');
`,
  );
  const settings = JSON.stringify(settingsFor(own, { client: 'openssh' }));
  const running = spawn(process.execPath, ['--import', 'tsx', program, settings], {
    cwd: root,
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => running.stdout.once('data', resolve));
  const folders = () => readdirSync(temporary).filter((name) => name.startsWith('rpc-ssh-'));
  expect(folders()).toHaveLength(1);
  expect(processesWith(`${temporary}/`).length).toBeGreaterThan(2);
  running.kill('SIGKILL');
  await vi.waitFor(() => expect(processesWith(`${temporary}/`)).toEqual([]), 60_000);
  await vi.waitFor(() => expect(folders()).toEqual([]), 60_000);
});

test('no value of the inventory is an argument of ssh, but address, user and port', async () => {
  const folder = temporaryDirectory();
  const key = join(folder, 'canary-key');
  copyFileSync(sshd.clientKey, key);
  execFileSync('chmod', ['600', key]);
  const knownHostsFile = join(folder, 'canary-known');
  writeFileSync(knownHostsFile, `[127.0.0.1]:${sshd.port} ${sshd.hostKey}\n`);
  const connection = await open(sshd, { client: 'openssh', identityFile: key, knownHostsFile, hostKeys: [] });
  const { stdout } = await connection.exec('ps axww -o args; cat', { stdin: 'canary-input' });
  expect(stdout.toString()).toContain(`-p ${sshd.port} -- 127.0.0.1`);
  expect(stdout.toString().match(/canary.*/g)).toEqual(['canary-input']);
});
