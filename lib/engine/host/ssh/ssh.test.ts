import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import ssh2, { type Connection as Client } from 'ssh2';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ConnectionSettings } from '../../inventory/inventory.ts';
import { describeProblem } from '../../problem/problem.ts';
import { newKeyPair } from '../../secret/testing/keys.ts';
import { connect } from '../connection.ts';
import { Unreachable } from '../connection-errors.ts';
import { standInFor, temporaryDirectory } from '../testing/local-connection.ts';
import { settingsFor } from '../testing/real-ssh.ts';
import { resolveSshConfig } from './resolve-ssh-config.ts';
import { openSsh } from './ssh.ts';

const hostKey = newKeyPair('ed25519');

/**
 * An SSH server in this process that accepts every login unless `serve` says otherwise.
 *
 * @returns its port
 */
async function sshServer(serve: (client: Client) => void, algorithms: ssh2.Algorithms = {}): Promise<number> {
  const server = new ssh2.Server({ hostKeys: [hostKey.private], algorithms }, (client) => {
    client.on('error', () => {});
    serve(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const welcome = (client: Client) => client.on('authentication', (context) => context.accept());

function keyFile(content = newKeyPair('ed25519').private): string {
  const path = join(temporaryDirectory(), 'key');
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

/** Tests do not use the agent of the developer. */
function withoutAgent(): void {
  const before = process.env.SSH_AUTH_SOCK;
  delete process.env.SSH_AUTH_SOCK;
  onTestFinished(() => {
    if (before !== undefined) process.env.SSH_AUTH_SOCK = before;
  });
}

function reach(more: Partial<ConnectionSettings> = {}): ConnectionSettings {
  withoutAgent();
  return settingsFor({ port: 22, hostKey: hostKey.public.trim(), clientKey: keyFile() }, more);
}

/** The error message for a host that cannot be reached. */
async function refusal(
  more: Partial<ConnectionSettings>,
  options: { signal?: AbortSignal; timeout?: number } = {},
) {
  const failed: unknown = await connect('h', reach(more), { retries: 0, ...options }).then(
    () => expect.fail('connected'),
    (error: unknown) => error,
  );
  expect(failed).toBeInstanceOf(Unreachable);
  return describeProblem(failed as Unreachable);
}

/** ssh with more settings in ssh_config than in the inventory. */
function sshConfig(...lines: string[]): void {
  standInFor('ssh', `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')}`);
}

test('a refused login shows the tried keys, the methods that the server offers, and what to do', async () => {
  let offered: ssh2.AuthenticationType[] = ['publickey', 'password'];
  const port = await sshServer((client) => client.on('authentication', (context) => context.reject(offered)));
  const [first, second] = [keyFile(), keyFile()];
  const there = `-p ${port} root@127.0.0.1`;
  sshConfig('hostname 127.0.0.1', 'identityfile none');
  expect(await refusal({ port, identityFile: first })).toBe(
    `h: root could not log in at 127.0.0.1: no key was accepted (tried: ${first}); the server offers: publickey, password\n  copy a public key there: ssh-copy-id ${there}; or its sshd does not let root in (AllowUsers, PermitRootLogin, from=); try: ssh -v ${there}`,
  );
  sshConfig('hostname 127.0.0.1', `identityfile ${second}`);
  offered = ['password'];
  expect(await refusal({ port, identityFile: first })).toBe(
    `h: root could not log in at 127.0.0.1: no key was accepted (tried: ${first}, ${second}); the server offers: password\n  allow keys in its sshd_config: PubkeyAuthentication yes; try: ssh -v ${there}`,
  );
  offered = ['publickey'];
  expect(await refusal({ port, identityFile: first })).toMatch(
    /offers: publickey\n {2}add a public key to ~\/\.ssh\/authorized_keys of root there; or its sshd does not let root in \(AllowUsers, PermitRootLogin, from=\); try: ssh -v/,
  );
  expect(await refusal({ port, identityFile: first, user: 'ops' })).toMatch(
    /; or its sshd does not let ops in \(AllowUsers, from=\); try: ssh -v/,
  );
});

test('an unusable key is reported before anything is sent', async () => {
  sshConfig('hostname 127.0.0.1', 'identityfile none');
  expect(await refusal({ identityFile: undefined })).toBe(
    'h: there is no key to log in with as root\n  give identity_file in the inventory, or add a key to the SSH agent; without a key: ssh-keygen && ssh-copy-id root@127.0.0.1',
  );
  sshConfig(
    'hostname 127.0.0.1',
    'identityfile /nowhere/.ssh/id_rsa',
    'identityfile /nowhere/.ssh/id_ed25519',
  );
  expect(await refusal({ identityFile: undefined })).toContain(
    '\n  none was found in /nowhere/.ssh; give identity_file in the inventory, or add a key',
  );
  expect(await refusal({ identityFile: '/nowhere/key' })).toBe(
    'h: the key file /nowhere/key cannot be read\n  see identity_file in the inventory',
  );
  const damaged = keyFile('no key\n');
  expect(await refusal({ identityFile: damaged })).toBe(
    `h: the key file ${damaged} cannot be used: Unsupported key format\n  name another in the inventory: identity_file`,
  );
  const open = keyFile();
  chmodSync(open, 0o644);
  expect(await refusal({ identityFile: open })).toBe(
    `h: the key file ${open} has mode 0644; a private key must be 0600 or stricter\n  chmod 600 ${open}`,
  );
  sshConfig('hostname 127.0.0.1', `identityfile ${open}`);
  expect(await refusal({ identityFile: undefined })).toMatch(
    `; ${open} has mode 0644; a private key must be 0600 or stricter`,
  );
  sshConfig('hostname 127.0.0.1', 'identityfile none');
  const passphrase = { passphrase: 'x', cipher: 'aes256-ctr', rounds: 1 };
  const locked = keyFile(newKeyPair('ed25519', passphrase).private);
  expect(await refusal({ identityFile: locked })).toBe(
    `h: the key file ${locked} is locked with a passphrase\n  start an agent and add it: eval "$(ssh-agent)" && ssh-add ${locked}`,
  );
});

test('an agent that does not answer is reported if no other key is available', async () => {
  sshConfig('hostname 127.0.0.1', 'identityfile none', 'identityagent /nowhere/agent');
  expect(await refusal({ identityFile: undefined })).toMatch(
    /there is no key .*; no agent answers at \/nowhere\/agent$/s,
  );
});

test('for no answer or an unknown name the error names the network', async () => {
  const free = createServer();
  const port = await new Promise<number>((resolve) =>
    free.listen(0, '127.0.0.1', () => resolve((free.address() as AddressInfo).port)),
  );
  await new Promise((resolve) => free.close(resolve));
  expect(await refusal({ port })).toBe(
    `h: 127.0.0.1 port ${port} refused the connection\n  is sshd running there, and on this port?`,
  );
  expect(await refusal({ address: 'no-such-host.invalid' })).toMatch(
    /^h: the name no-such-host\.invalid is not known\n {2}check the address in the inventory$|^h: the name server did not answer for no-such-host\.invalid\n {2}check the network/,
  );
});

test('an address without a route', async () => {
  expect(await refusal({ address: '255.255.255.255' })).toBe(
    'h: there is no route to 255.255.255.255 port 22\n  check the address in the inventory',
  );
});

test('a silent host fails after the time limit', async () => {
  const silent = createServer(() => {});
  const port = await new Promise<number>((resolve) =>
    silent.listen(0, '127.0.0.1', () => resolve((silent.address() as AddressInfo).port)),
  );
  onTestFinished(() => void silent.close());
  expect(await refusal({ port }, { timeout: 0.2 })).toBe(
    `h: no answer from 127.0.0.1 port ${port} within 0.2 s\n  is the host up, and does a firewall let us through?`,
  );
});

test('Ctrl-C during the connection is not a fault of the host', async () => {
  expect(await refusal({}, { signal: AbortSignal.abort() })).toBe('h: interrupted while connecting');
});

test('a jump host that is none', async () => {
  for (const jump of ['a:b:c', 'root@127.0.0.1:99999', 'root@127.0.0.1:0', '[::zz]'])
    expect(await refusal({ jump: [jump] })).toBe(
      `h: ${jump} is not a jump host\n  write it as: user@host:port`,
    );
});

test('the last @ of a jump host ends its user', async () => {
  const users: string[] = [];
  const port = await sshServer((client) =>
    client.on('authentication', (context) => {
      users.push(context.username);
      context.accept();
    }),
  );
  sshConfig('hostname 127.0.0.1', 'identityfile none');
  const known = join(temporaryDirectory(), 'known_hosts');
  writeFileSync(known, `[127.0.0.1]:${port} ${hostKey.public}\n`);
  const jump = [`op@example.org@127.0.0.1:${port}`];
  expect(await refusal({ port: 1, knownHostsFile: known, jump })).toContain(
    'forwards nothing to 127.0.0.1 port 1',
  );
  expect(new Set(users)).toEqual(new Set(['op@example.org']));
});

test('a failing jump host is reported with the step that it reached', async () => {
  const port = await sshServer(welcome);
  const known = join(temporaryDirectory(), 'known_hosts');
  writeFileSync(known, `[127.0.0.1]:${port} ${hostKey.public}\n`);
  expect(await refusal({ port: 1, knownHostsFile: known, jump: [`root@127.0.0.1:${port}`] })).toMatch(
    /^h: jump host root@127\.0\.0\.1:\d+ forwards nothing to 127\.0\.0\.1 port 1\n {2}nothing was connected to\. See AllowTcpForwarding and PermitOpen of its sshd$/,
  );
  const unknown = { port: 1, knownHostsFile: '/nowhere/known', jump: [`root@127.0.0.1:${port}`] };
  expect(await refusal(unknown)).toMatch(
    /^h \(jump host root@127\.0\.0\.1:\d+\): the host key of .* is not known/,
  );
});

test('ssh is asked once for what all hosts have in common: its usual settings, and their jump host', async () => {
  const folder = standInFor('ssh', 'echo "$*" >>"$(dirname "$0")/calls"; echo "port 1"');
  const hosts = ['h-1', 'h-2', 'h-3'].map((address) => reach({ address, jump: ['root@127.0.0.1'] }));
  await Promise.allSettled(hosts.map((host) => connect(host.address, host, { retries: 0 })));
  expect(readFileSync(join(folder, 'calls'), 'utf8').split('\n').sort()).toEqual([
    '',
    '-F none -G -- any.invalid',
    '-G -l root -- 127.0.0.1',
    ...['h-1', 'h-2', 'h-3'].map((address) => `-G -l root -p 22 -- ${address}`),
    // This one does not say which files it reads, so each host is asked for.
    '-v -G -- any.invalid',
  ]);
});

test('a connection that closes on a command is an error: the command may not have run', async () => {
  let begun = 0;
  const port = await sshServer((client) =>
    welcome(client).on('session', (accept) =>
      accept().on('exec', (begin) => {
        begun += 1;
        if (begun > 1) return void client.end();
        const channel = begin();
        channel.exit(0);
        channel.end();
      }),
    ),
  );
  const config = await resolveSshConfig('h', '127.0.0.1', { user: 'root', port });
  const { transport } = await openSsh('h', reach({ port }), config, { retries: 0 });
  expect((await transport.run('first', undefined)).code).toBe(0);
  const lost: unknown = await transport.run('second', undefined).catch((error: unknown) => error);
  expect(lost).toMatchObject({
    message: 'h: the connection was lost: the host closed it',
    hint: 'run again: the next run checks what was done, and does the rest',
  });
});

test('a host that refuses a second channel gets its commands one after another', async () => {
  let [open, turnedAway] = [0, 0];
  const port = await sshServer((client) =>
    welcome(client).on('session', (accept, reject) => {
      if (open === 1) {
        turnedAway += 1;
        return reject();
      }
      open += 1;
      accept().on('exec', (begin) => {
        const channel = begin();
        setTimeout(() => {
          open -= 1;
          channel.exit(0);
          channel.end();
        }, 20);
      });
    }),
  );
  const config = await resolveSshConfig('h', '127.0.0.1', { user: 'root', port });
  const { transport } = await openSsh('h', reach({ port }), config, { retries: 0 });
  const results = await Promise.all([1, 2, 3, 4, 5].map((at) => transport.run(`${at}`, undefined)));
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  // Two of the first three, and one more if both are refused at once; and, if this machine is
  // slow, the two that are opened ahead.
  expect(turnedAway).toBeLessThanOrEqual(5);
  await transport.close();
});

/**
 * A server that is far away and runs commands.
 *
 * @returns the command lines of its channels as they are opened
 */
async function farServer(mostChannels = 10) {
  const lines: string[] = [];
  const programs = new Set<ChildProcess>();
  let ended = 0;
  const refused = join(temporaryDirectory(), 'refused');
  let running = 0;
  const port = await sshServer((client) =>
    welcome(client).on('session', (accept, reject) => {
      if (running === mostChannels) {
        writeFileSync(refused, '');
        return reject();
      }
      running += 1;
      setTimeout(() => {
        accept().on('exec', (begin, _, { command }) => {
          lines.push(command);
          const channel = begin();
          const program = spawn('sh', ['-c', command]);
          programs.add(program);
          program.stdin.on('error', () => {});
          channel.pipe(program.stdin);
          program.stdout.pipe(channel, { end: false });
          program.on('close', (code) => {
            running -= 1;
            programs.delete(program);
            channel.exit(code ?? 1);
            channel.end();
          });
        });
      }, 50);
    }),
  );
  const config = await resolveSshConfig('h', '127.0.0.1', { user: 'root', port });
  const { transport } = await openSsh('h', reach({ port }), config, { retries: 0 });
  onTestFinished(() => transport.close());
  let commands = 0;
  const run = async (line: string, input?: string) => {
    commands += 1;
    const { code, stdout } = await transport.run(line, input === undefined ? undefined : Buffer.from(input));
    // The next channels are open by then.
    if (mostChannels > 1) await vi.waitFor(() => expect(lines).toHaveLength(commands + 2 + ended), 10_000);
    await sleep(150);
    return `${code} ${stdout}`;
  };
  /**
   * Ends what waits for the next commands, as an sshd does that ends idle channels
   * (ChannelTimeout).
   */
  const endWaiting = async () => {
    ended += programs.size;
    for (const program of programs) program.kill();
    await vi.waitFor(() => expect(programs.size).toBe(0));
    await sleep(150);
  };
  return { lines, refused, run, endWaiting };
}

test('on a host that is far away the next command runs on a channel that is open already', async () => {
  const { lines, run } = await farServer();
  const long = 'x'.repeat(100_000);
  expect(await run('echo first; cat')).toBe('0 first\n');
  expect(await run(`echo "it's $((1 + 1))"; cat; exit 3`)).toBe("3 it's 2\n");
  expect(await run('IFS= read -r a; echo "$a-"; cat', `one\n${long}`)).toBe(`0 one-\n${long}`);
  expect(await run('kill -9 $$')).not.toMatch(/^0/);
  expect(lines[0]).toBe('echo first; cat');
  expect(lines.slice(1)).toEqual(
    Array.from({ length: 5 }, () => expect.stringMatching(/^sh -c 'IFS= read -r c&&/)),
  );
});

test('channels that are opened ahead and end are opened again with the next command', async () => {
  const { lines, run, endWaiting } = await farServer();
  expect(await run('echo 1')).toBe('0 1\n');
  await endWaiting();
  expect(await run('echo 2')).toBe('0 2\n');
  expect(lines[3]).toBe('echo 2');
  expect(await run('echo 3')).toBe('0 3\n');
  expect(lines.slice(4)).toEqual(
    Array.from({ length: 3 }, () => expect.stringMatching(/^sh -c 'IFS= read -r c&&/)),
  );
});

test('a host that is far away and allows one channel gets its commands on channels of their own', async () => {
  const { lines, refused, run } = await farServer(1);
  // The first one still runs when the host refuses the next channel.
  const commands = [`until [ -e ${refused} ]; do sleep 0.1; done; echo 1`, 'echo 2', 'echo 3'];
  for (const [at, command] of commands.entries()) expect(await run(command)).toBe(`0 ${at + 1}\n`);
  expect(lines).toEqual(commands);
});
