import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type Connection, connect } from '../../lib/engine/host/connection.ts';
import { Unreachable } from '../../lib/engine/host/connection-errors.ts';
import { temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { realSshWith, settingsFor } from '../../lib/engine/host/testing/real-ssh.ts';
import type { ConnectionSettings } from '../../lib/engine/inventory/inventory.ts';
import { describeProblem } from '../../lib/engine/problem/problem.ts';
import { installMissing } from '../install-missing.ts';
import { newUser } from './login.ts';
import { installSshd, type Sshd, startSshd } from './sshd.ts';

let sshd: Sshd;
let bastion: Sshd;

beforeAll(async () => {
  installSshd();
  installMissing([['/usr/bin/socat', 'socat']]);
  sshd = await startSshd('LogLevel DEBUG1\nMaxAuthTries 6');
  bastion = await startSshd('LogLevel VERBOSE');
});

afterAll(async () => {
  await sshd?.stop();
  await bastion?.stop();
});

const sshConfig = (...lines: string[]): string => realSshWith(lines.map((line) => `${line}\n`).join(''));

async function open(more: Partial<ConnectionSettings> = {}): Promise<Connection> {
  const connection = await connect('db-1', settingsFor(sshd, more), { retries: 0 });
  onTestFinished(() => connection.close());
  return connection;
}

async function said(more: Partial<ConnectionSettings> = {}, command = 'echo in'): Promise<string> {
  try {
    return (await (await open(more)).exec(command)).stdout.toString().trim();
  } catch (error) {
    expect(error).toBeInstanceOf(Unreachable);
    return describeProblem(error as Unreachable);
  }
}

/** What sshd logs while this runs. */
async function loggedDuring(work: () => Promise<unknown>): Promise<string> {
  const from = sshd.log().length;
  await work();
  return sshd.log().slice(from);
}

test('nothing is connected to where ssh cannot read its configuration, or could run no command', async () => {
  const log = await loggedDuring(async () => {
    const file = sshConfig('Host *', '  User u1', '  NoSuchOption 1');
    expect(await said()).toMatch(
      new RegExp(
        `^db-1: ssh cannot read its configuration for 127\\.0\\.0\\.1: ${file}: line 3: Bad configuration option`,
      ),
    );
    sshConfig('RemoteCommand tmux attach');
    expect(await said()).toMatch(
      /^db-1: ssh_config sets RemoteCommand .* for 127\.0\.0\.1, which keeps ssh from running a command\n/,
    );
    sshConfig('Match exec "sleep 30"', '  User u1');
    expect(await said()).toBe(
      'db-1: ssh did not read its configuration for 127.0.0.1 within 10 s\n  nothing was connected to. Find out which program of ssh_config takes so long (Match exec): ssh -G 127.0.0.1',
    );
  });
  expect(log).toBe('');
});

test('what the library cannot follow is followed by OpenSSH', async () => {
  for (const line of [
    'CheckHostIP yes',
    'RekeyLimit 1G',
    'BindInterface lo',
    'ProxyCommand socat - TCP:%h:%p',
    'KnownHostsCommand /bin/false',
    'PermitLocalCommand yes\nLocalCommand true',
    'KexAlgorithms sntrup761x25519-sha512@openssh.com',
    'MACs umac-128@openssh.com',
  ]) {
    sshConfig(...line.split('\n'));
    expect([line, await said()]).toEqual([line, 'in']);
  }
});

test('algorithms of ssh_config are the ones that are used', async () => {
  sshConfig(
    'Ciphers aes256-ctr,aes128-ctr',
    'MACs umac-128@openssh.com,hmac-sha2-512',
    'KexAlgorithms sntrup761x25519-sha512@openssh.com,ecdh-sha2-nistp384',
    'HostKeyAlgorithms ssh-ed25519',
    'PubkeyAcceptedAlgorithms ssh-ed25519',
  );
  const log = await loggedDuring(async () => expect(await said()).toBe('in'));
  expect(log).toContain('kex: algorithm: ecdh-sha2-nistp384');
  expect(log).toContain('kex: client->server cipher: aes256-ctr MAC: hmac-sha2-512');
  sshConfig('PubkeyAcceptedAlgorithms rsa-sha2-512');
  expect(await said({ identityFile: sshd.clientKey })).toContain(
    `${sshd.clientKey} is not of PubkeyAcceptedAlgorithms (it needs ssh-ed25519)`,
  );
  sshConfig('HostKeyAlgorithms rsa-sha2-512');
  expect(await said()).toMatch(/no matching host key type found\. Their offer: ssh-ed25519\n/);
});

test('RevokedHostKeys: both kinds of lists are followed; an unreadable file is refused', async () => {
  const folder = temporaryDirectory();
  const file = join(folder, 'revoked');
  writeFileSync(file, `# of last year\n\n${bastion.hostKey} a comment\n`);
  sshConfig(`RevokedHostKeys ${file}`);
  expect(await said()).toBe('in');
  appendFileSync(file, `${sshd.hostKey}\n`);
  expect(await said()).toMatch(
    new RegExp(
      `^db-1: THE HOST KEY OF .* IS REVOKED: ssh-ed25519 SHA256:.*\n {2}nothing was sent to it\\. ${file} has this key;`,
    ),
  );
  appendFileSync(file, 'nonsense\n');
  expect(await said()).toContain(`RevokedHostKeys of ssh_config: ${file}:5 is not a public key`);
  const list = join(folder, 'krl');
  for (const [key, wanted] of [
    [bastion.hostKey, /^in$/],
    [
      sshd.hostKey,
      /^db-1: THE HOST KEY OF .* IS REVOKED: ssh-ed25519 SHA256:.*\n {2}nothing was sent to it\. .*krl/,
    ],
  ] as const) {
    writeFileSync(join(folder, 'key.pub'), `${key}\n`);
    execFileSync('ssh-keygen', ['-q', '-k', '-f', list, join(folder, 'key.pub')]);
    sshConfig(`RevokedHostKeys ${list}`);
    expect(await said()).toMatch(wanted);
  }
  sshConfig(`RevokedHostKeys ${folder}/missing`);
  expect(await said()).toContain(`RevokedHostKeys of ssh_config: ${folder}/missing does not exist`);
});

test('RequiredRSASize holds for the key of the host and that of the user', async () => {
  const folder = temporaryDirectory();
  const key = join(folder, 'rsa');
  execFileSync('ssh-keygen', ['-q', '-t', 'rsa', '-b', '2048', '-N', '', '-f', key]);
  const own = await startSshd(`HostKeyAlgorithms rsa-sha2-512\nHostKey ${key}`);
  onTestFinished(() => own.stop());
  const there = {
    port: own.port,
    identityFile: own.clientKey,
    hostKeys: [readFileSync(`${key}.pub`, 'utf8').trim()],
  };
  sshConfig('RequiredRSASize 2048');
  expect(await said(there)).toBe('in');
  sshConfig('RequiredRSASize 2049');
  expect(await said(there)).toMatch(
    /^db-1: the host key of .* is an RSA key of 2048 bits\n.*RequiredRSASize of ssh_config is 2049/,
  );
  expect(await said({ identityFile: key })).toContain(`${key} has 2048 bits, and RequiredRSASize is 2049`);
});

test('AddressFamily and BindAddress', async () => {
  sshConfig('AddressFamily inet', 'BindAddress 127.0.0.9');
  expect(await said({ address: 'localhost' }, 'echo "$SSH_CONNECTION"')).toMatch(/^127\.0\.0\.9 /);
  sshConfig('AddressFamily inet6');
  expect(await said({ address: 'localhost' })).toMatch(/refused the connection|no route|is not known/);
});

test('files of known hosts whose paths have a blank', async () => {
  const folder = join(temporaryDirectory(), 'known hosts of db');
  mkdirSync(folder);
  writeFileSync(join(folder, 'all of them'), `[127.0.0.1]:${sshd.port} ${sshd.hostKey}\n`);
  sshConfig(`UserKnownHostsFile /nowhere/known "${folder}/all of them"`);
  for (const client of [undefined, 'openssh'] as const)
    expect(await said({ client, hostKeys: [] })).toBe('in');
});

test("a key in another user's home", async () => {
  const user = newUser();
  copyFileSync(sshd.clientKey, `/home/${user}/key`);
  sshConfig(`IdentityFile ~${user}/key`);
  expect(await said({ identityFile: undefined })).toBe('in');
});

test('ForkAfterAuthentication changes nothing', async () => {
  sshConfig('ForkAfterAuthentication yes');
  for (const client of [undefined, 'openssh'] as const) expect(await said({ client })).toBe('in');
});

test('a BindAddress that is a name is looked up, and one that is not of this machine is named', async () => {
  sshConfig('BindAddress localhost', 'AddressFamily inet');
  expect(await said()).toBe('in');
  for (const address of ['10.99.99.99', 'no-such-name.invalid']) {
    for (const client of [undefined, 'openssh'] as const) {
      sshConfig(`BindAddress ${address}`);
      expect(await said({ client })).toBe(
        `db-1: this machine has no address ${address} to connect from\n  nothing was connected to. Correct BindAddress of ssh_config`,
      );
    }
  }
});

test("a jump host's own ProxyJump and its own ProxyCommand are followed", async () => {
  appendFileSync(`${bastion.clientKey}.pub`, readFileSync(`${sshd.clientKey}.pub`));
  const known = join(temporaryDirectory(), 'known_hosts');
  writeFileSync(
    known,
    `[127.0.0.1]:${bastion.port} ${bastion.hostKey}\n[127.0.0.1]:${sshd.port} ${sshd.hostKey}\n`,
  );
  const through = { hostKeys: [], knownHostsFile: known };
  const alias = (name: string, port: number, ...more: string[]) => [
    `Host ${name}`,
    '  HostName 127.0.0.1',
    '  User root',
    `  Port ${port}`,
    ...more.map((line) => `  ${line}`),
  ];
  const target = alias('target', sshd.port, 'ProxyJump inner');
  sshConfig(...target, ...alias('inner', sshd.port, 'ProxyJump outer'), ...alias('outer', bastion.port));
  const before = bastion.log().length;
  const log = await loggedDuring(async () =>
    expect(await said({ ...through, address: 'target', port: undefined, user: undefined })).toBe('in'),
  );
  // To the inner one, and through it to the host.
  expect(log.match(/Accepted publickey/g)).toHaveLength(2);
  await vi.waitFor(() => expect(bastion.log().slice(before)).toMatch(/Accepted publickey/));

  const reached = { ...through, address: 'target', port: undefined, user: undefined };
  const marker = join(temporaryDirectory(), 'used');
  for (const option of [`ProxyCommand sh -c "touch ${marker}; exec socat - TCP:%h:%p"`, 'BindInterface lo']) {
    sshConfig(...target, ...alias('inner', sshd.port, option));
    expect(await said(reached)).toBe('in');
  }
  expect(existsSync(marker)).toBe(true);
  sshConfig(
    ...target,
    ...alias('inner', sshd.port, 'ProxyJump outer'),
    ...alias('outer', 1, 'ProxyJump inner'),
  );
  expect(await said(reached)).toMatch(
    /^db-1: the way leads through more than 16 jump hosts: .*\n {2}nothing was connected to/,
  );
});

/** An agent of this test alone, with these keys. */
function agentWithKeys(...keys: string[]): void {
  const socket = join(temporaryDirectory(), 'agent');
  const started = execFileSync('ssh-agent', ['-a', socket], { encoding: 'utf8' });
  const pid = Number(/AGENT_PID=(\d+)/.exec(started)?.[1]);
  vi.stubEnv('SSH_AUTH_SOCK', socket);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    process.kill(pid);
  });
  for (const key of keys) execFileSync('ssh-add', ['-q', key], { stdio: 'ignore' });
}

/** Private keys in a folder of their own. */
function newKeys(count: number): string[] {
  const folder = temporaryDirectory();
  return Array.from({ length: count }, (_, at) => {
    const key = join(folder, `key-${at + 1}`);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', `key ${at + 1}`, '-f', key]);
    return key;
  });
}

/** An sshd that takes this key alone. */
async function hostFor(key: string, more = ''): Promise<Partial<ConnectionSettings> & { log(): string }> {
  const own = await startSshd(`LogLevel VERBOSE\n${more}`);
  onTestFinished(() => own.stop());
  writeFileSync(`${own.clientKey}.pub`, readFileSync(`${key}.pub`));
  return { port: own.port, hostKeys: [own.hostKey], identityFile: undefined, log: own.log };
}

test('of 8 keys in the agent the one that ssh_config names comes first, before the server cuts off', async () => {
  const keys = newKeys(8);
  const last = keys.at(-1) ?? '';
  const there = await hostFor(last, 'MaxAuthTries 6');
  agentWithKeys(...keys);
  sshConfig('IdentityFile none');
  expect(await said(there)).toMatch(/root could not log in/);
  sshConfig(`IdentityFile ${last}`);
  expect(await said(there)).toBe('in');
  // Only the public key is at hand, beside the name or by its own name.
  rmSync(last);
  for (const name of [last, `${last}.pub`]) {
    for (const only of ['IdentitiesOnly yes', 'IdentitiesOnly no']) {
      sshConfig(`IdentityFile ${name}`, only);
      expect(await said(there)).toBe('in');
    }
  }
  expect(await said({ ...there, identityFile: last })).toBe('in');
  sshConfig(`IdentityFile ${keys[0]}`, 'IdentitiesOnly yes');
  expect(await said(there)).toMatch(/no key was accepted \(tried: 1 key of the agent\)/);
});

test('a public key whose private key nobody holds is named', async () => {
  const [first = '', second = ''] = newKeys(2);
  const there = await hostFor(first);
  agentWithKeys();
  rmSync(first);
  sshConfig(`IdentityFile ${first}`, `IdentityFile ${second}.pub`);
  expect(await said(there)).toContain(
    `${first} has no private key here, and the agent does not hold it; ${second}.pub is a public key, and the agent does not hold its private key`,
  );
});

test('a locked key without its public file is recognised in the agent', async () => {
  const keys = newKeys(3);
  const locked = keys.at(-1) ?? '';
  const there = await hostFor(locked, 'MaxAuthTries 2');
  agentWithKeys(...keys);
  execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'a passphrase', '-f', locked], { stdio: 'ignore' });
  rmSync(`${locked}.pub`);
  sshConfig(`IdentityFile ${locked}`);
  expect(await said(there)).toBe('in');
});

test('keys are offered in the order of ssh itself', async () => {
  const keys = newKeys(6);
  const [one = '', two = '', three = '', four = '', file = '', accepted = ''] = keys;
  const there = await hostFor(accepted, 'MaxAuthTries 20');
  agentWithKeys(one, two, three, four);
  const configs = [
    [`IdentityFile ${file}`, `IdentityFile ${four}`, `IdentityFile ${two}.pub`],
    ['IdentitiesOnly yes', `IdentityFile ${file}`, `IdentityFile ${four}`, `IdentityFile ${three}`],
    [`IdentityFile ${file}`],
  ];
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'BatchMode=yes'].flatMap(
    (each) => ['-o', each],
  );
  const offeredBy = async (login: () => Promise<unknown>) => {
    const from = there.log().length;
    await login();
    await vi.waitFor(
      () => expect(there.log().slice(from)).toMatch(/Connection closed by|Disconnected from/),
      10_000,
    );
    return [
      ...there
        .log()
        .slice(from)
        .matchAll(/Failed publickey .*(SHA256:\S+)/g),
    ].map(([, key]) => key);
  };
  for (const lines of configs) {
    const config = sshConfig(...lines);
    const ours = await offeredBy(async () => expect(await said(there)).toMatch(/could not log in/));
    const theirs = await offeredBy(async () =>
      spawnSync('/usr/bin/ssh', [
        '-F',
        config,
        '-p',
        String(there.port),
        ...options,
        'root@127.0.0.1',
        'true',
      ]),
    );
    expect(theirs.length).toBeGreaterThan(1);
    expect(ours).toEqual(theirs);
  }
});

test('a command line on the host is short, so that a server with a limit runs it', async () => {
  sshConfig('');
  const connection = await open();
  const { stdout } = await connection.exec(
    `tr '\\0' ' ' </proc/$PPID/cmdline; tr '\\0' ' ' </proc/$$/cmdline #${'x'.repeat(50_000)}`,
  );
  expect(stdout.toString()).toContain('eval');
  expect(stdout.length).toBeLessThan(1000);
});
