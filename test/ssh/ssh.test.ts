import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectSocket, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Connection, ConnectionLost, connect } from '../../lib/engine/host/connection.ts';
import { Unreachable } from '../../lib/engine/host/connection-errors.ts';
import { createReader } from '../../lib/engine/host/reader.ts';
import { fingerprint, parseHostKey } from '../../lib/engine/host/ssh/known-hosts.ts';
import { write } from '../../lib/engine/host/step.ts';
import { temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { realSshWith, settingsFor } from '../../lib/engine/host/testing/real-ssh.ts';
import { createWriter } from '../../lib/engine/host/writer.ts';
import type { ConnectionSettings } from '../../lib/engine/inventory/inventory.ts';
import { exitCode } from '../../lib/engine/problem/problem.ts';
import { hostOver, makeSteps } from '../../lib/engine/resource/testing/test-host.ts';
import { Secret } from '../../lib/engine/secret/secret.ts';
import { freePort, installSshd, type Sshd, startSshd } from './sshd.ts';

let sshd: Sshd;
let bastion: Sshd;
const opened: Connection[] = [];
let client: ConnectionSettings['client'];

beforeAll(async () => {
  installSshd();
  sshd = await startSshd('MaxSessions 3');
  bastion = await startSshd();
});

afterAll(async () => {
  await Promise.all(opened.map((connection) => connection.close()));
  await sshd?.stop();
  await bastion?.stop();
});

async function open(more: Partial<ConnectionSettings> = {}): Promise<Connection> {
  const connection = await connect('db-1', settingsFor(sshd, { client, ...more }), { retries: 0 });
  opened.push(connection);
  return connection;
}

async function refusal(more: Partial<ConnectionSettings>): Promise<Unreachable> {
  const error: unknown = await open(more).then(
    () => new Error('it connected'),
    (failed: unknown) => failed,
  );
  expect(error).toBeInstanceOf(Unreachable);
  expect((error as Unreachable).code).toBe(exitCode.unreachable);
  expect((error as Unreachable).message).toMatch(/^db-1/);
  return error as Unreachable;
}

function knownHosts(text: string): Partial<ConnectionSettings> {
  const file = join(sshd.directory, `known-${randomBytes(4).toString('hex')}`);
  writeFileSync(file, text);
  return { hostKeys: [], knownHostsFile: file };
}

const hostPart = () => `[127.0.0.1]:${sshd.port}`;

describe.each([
  ['the SSH library', undefined],
  ['OpenSSH', 'openssh'],
] as const)('by %s', (_, chosen) => {
  beforeAll(() => {
    client = chosen;
  });

  test('a key from known_hosts is accepted, plain and hashed', async () => {
    const plain = knownHosts(`# a comment\n${hostPart()},other ${sshd.hostKey}\n`);
    expect((await (await open(plain)).exec('echo in')).stdout.toString()).toBe('in\n');

    const hashed = knownHosts(`${hostPart()} ${sshd.hostKey}\n`);
    execFileSync('ssh-keygen', ['-q', '-H', '-f', hashed.knownHostsFile ?? ''], { stdio: 'ignore' });
    expect((await (await open(hashed)).exec('echo in')).stdout.toString()).toBe('in\n');
  });

  test('an unknown key is refused, with its fingerprint and both ways to accept it', async () => {
    const { knownHostsFile } = knownHosts('');
    const error = await refusal({ hostKeys: [], knownHostsFile });
    expect(error.message).toContain(fingerprint(parseHostKey(sshd.hostKey)?.blob ?? Buffer.alloc(0)));
    expect(error.hint).toContain(`ssh-keyscan -p ${sshd.port} -t ed25519 127.0.0.1 >> ${knownHostsFile}`);
    // OpenSSH does not show the key itself.
    expect(error.hint).toContain(
      client ? 'host_key: ssh-ed25519 AAAA…, the line' : `host_key: ${sshd.hostKey}`,
    );
  });

  test('the hint of the unknown-key error leads to a login', async () => {
    const known = knownHosts('');
    const { hint } = await refusal(known);
    const command = /ssh-keyscan .*/.exec(hint ?? '')?.[0] ?? '';
    expect(spawnSync('sh', ['-c', command]).status).toBe(0);
    expect((await (await open(known)).exec('true')).code).toBe(0);
  });

  test('the hint for a host with another name in known_hosts leads to a login', async () => {
    realSshWith('HostKeyAlias the-db\n');
    const known = knownHosts('');
    const { hint } = await refusal(known);
    const command = /ssh-keyscan .*/.exec(hint ?? '')?.[0] ?? '';
    expect(spawnSync('sh', ['-c', command]).status).toBe(0);
    expect(readFileSync(known.knownHostsFile ?? '', 'utf8')).toMatch(/^the-db ssh-ed25519 /);
    expect((await (await open(known)).exec('true')).code).toBe(0);
  });

  test('the hint for a host behind a jump host asks from there, and leads to a login', async () => {
    const config = realSshWith('');
    appendFileSync(`${bastion.clientKey}.pub`, readFileSync(`${sshd.clientKey}.pub`));
    const jumpLine = `[127.0.0.1]:${bastion.port} ${bastion.hostKey}\n`;
    const behind = { ...knownHosts(jumpLine), jump: [`root@127.0.0.1:${bastion.port}`] };
    const { hint } = await refusal(behind);
    const command = /ssh ssh:.*/.exec(hint ?? '')?.[0] ?? '';
    expect(command).toMatch(
      new RegExp(
        `^ssh ssh://root@127\\.0\\.0\\.1:${bastion.port} ssh-keyscan -p ${sshd.port} -t ed25519 127`,
      ),
    );
    writeFileSync(config, `IdentityFile ${sshd.clientKey}\nUserKnownHostsFile ${behind.knownHostsFile}\n`);
    expect(spawnSync('sh', ['-c', command], { stdio: 'ignore' }).status).toBe(0);
    expect((await (await open(behind)).exec('true')).code).toBe(0);
  });

  test('a key that differs from the known one is refused, pinned or from known_hosts', async () => {
    for (const more of [{ hostKeys: [bastion.hostKey] }, knownHosts(`${hostPart()} ${bastion.hostKey}\n`)]) {
      const error = await refusal(more);
      expect(error.message).toMatch(/HOST KEY .* HAS CHANGED/);
      expect(error.message).toContain(fingerprint(parseHostKey(bastion.hostKey)?.blob ?? Buffer.alloc(0)));
    }
  });

  test('a damaged line of known_hosts is named, and is no changed key', async () => {
    const damaged = knownHosts(`${hostPart()} ${sshd.hostKey.slice(0, -8)}\n`);
    const { message } = await refusal(damaged);
    expect(message).toMatch(/is not known, so it is not trusted/);
    expect(message).toContain(`${damaged.knownHostsFile}:1 is about this host, and holds no whole key`);
  });

  test('a revoked key is refused even if it is known', async () => {
    const error = await refusal(knownHosts(`${hostPart()} ${sshd.hostKey}\n@revoked * ${sshd.hostKey}\n`));
    expect(error.message).toMatch(/THE HOST KEY OF .* IS REVOKED/);
  });

  test('a refused connection, a refused login and a locked key are reported with the host', async () => {
    expect((await refusal({ port: await freePort() })).message).toMatch(/refused the connection/);

    const stranger = join(temporaryDirectory(), 'stranger');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', stranger]);
    expect((await refusal({ identityFile: stranger })).message).toMatch(/root could not log in/);

    const locked = join(temporaryDirectory(), 'locked');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'a passphrase', '-f', locked]);
    const error = await refusal({ identityFile: locked });
    expect(error.message).toMatch(/locked with a passphrase/);
    expect(error.hint).toContain(`ssh-add ${locked}`);
  });

  test('a key that is only in the agent logs in', async () => {
    const locked = join(temporaryDirectory(), 'in-agent');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', locked]);
    const own = await startSshd();
    appendFileSync(`${own.clientKey}.pub`, readFileSync(`${locked}.pub`));
    const socket = join(temporaryDirectory(), 'agent');
    const agent = execFileSync('ssh-agent', ['-a', socket], { encoding: 'utf8' });
    const before = process.env.SSH_AUTH_SOCK;
    try {
      process.env.SSH_AUTH_SOCK = socket;
      execFileSync('ssh-add', ['-q', locked], { stdio: 'ignore' });
      execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'a passphrase', '-f', locked], {
        stdio: 'ignore',
      });
      const connection = await open({ port: own.port, hostKeys: [own.hostKey], identityFile: locked });
      expect((await connection.exec('echo in')).stdout.toString()).toBe('in\n');
    } finally {
      if (before === undefined) delete process.env.SSH_AUTH_SOCK;
      else process.env.SSH_AUTH_SOCK = before;
      process.kill(Number(/AGENT_PID=(\d+)/.exec(agent)?.[1]));
      await own.stop();
    }
  });

  test('binary output, no trailing newline, five megabytes and the exit code arrive exactly', async () => {
    const connection = await open();
    const data = randomBytes(5_000_000);
    const { code, stdout, stderr } = await connection.exec('cat; printf "\\303" >&2; exit 7', {
      stdin: data,
    });
    expect(code).toBe(7);
    expect(stdout.equals(data)).toBe(true);
    expect([...stderr]).toEqual([0xc3]);
  });

  test('ten scripts at once work with three channels', async () => {
    const connection = await open();
    const before = connection.execs;
    const results = await Promise.all(
      Array.from({ length: 10 }, () => connection.exec('date +%s%N; sleep 0.5; date +%s%N')),
    );
    const spans = results.map((result) => result.stdout.toString().trim().split('\n').map(Number));
    const atOnce = spans.map(
      ([start = 0]) => spans.filter(([from = 0, to = 0]) => from <= start && start <= to).length,
    );
    expect(Math.max(...atOnce)).toBeLessThanOrEqual(3);
    expect(connection.execs - before).toBe(10);
  });

  test('a host that accepts no command reports which setting is too low', async () => {
    const own = await startSshd('MaxSessions 0');
    try {
      const connection = await open({ port: own.port, hostKeys: [own.hostKey], identityFile: own.clientKey });
      await expect(connection.exec('true')).rejects.toMatchObject({
        message: 'db-1: the host accepts the login, and refuses to run a command',
        hint: 'its sshd_config has to allow a session (MaxSessions)',
      });
    } finally {
      await own.stop();
    }
  });

  test('a host that closes the connection after the login has begun nothing', async () => {
    const own = await startSshd('PermitRootLogin forced-commands-only');
    try {
      const connection = await open({ port: own.port, hostKeys: [own.hostKey], identityFile: own.clientKey });
      const refused: unknown = await connection.exec('true').catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(Unreachable);
      expect(refused).toMatchObject({
        message: expect.stringMatching(
          /^db-1: the host accepts the login, and the connection ended before the first command began: \w/,
        ),
        hint: 'run again. If it ends so each time, its sshd may let this account in for forced commands alone (PermitRootLogin forced-commands-only); the log of its sshd has the reason',
      });
    } finally {
      await own.stop();
    }
  });

  test('reads of one tick are one exec, of any type', async () => {
    const connection = await open();
    const reader = createReader(connection, 'db-1');
    const writer = createWriter(connection, 'db-1', { onProgress: () => {} });
    const before = connection.execs;
    const [shown, stat, content] = await Promise.all([
      reader.$`echo ${'it works'}`,
      reader.stat('/etc/passwd'),
      writer.read('/etc/passwd'),
      writer.sha256('/etc/passwd'),
      reader.package('bash'),
    ]);
    expect(shown.text()).toBe('it works');
    expect(stat?.size).toBe(content?.length);
    expect(connection.execs - before).toBe(1);
  });

  /** Forwards connections to sshd, and can close them. */
  async function cuttable(): Promise<{ port: number; cut(): void; close(): void }> {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      const onward = connectSocket(sshd.port, '127.0.0.1');
      for (const each of [socket, onward]) each.on('error', () => {});
      socket.pipe(onward).pipe(socket);
      sockets.push(socket, onward);
    });
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const cut = () => {
      for (const socket of sockets) socket.resetAndDestroy();
    };
    return {
      port,
      cut,
      close() {
        cut();
        server.close();
      },
    };
  }

  test('a connection that closes during a script is lost, never a success', async () => {
    const proxy = await cuttable();
    try {
      const connection = await open({ port: proxy.port });
      const folder = temporaryDirectory();
      const marks = { exec: join(folder, 'exec'), reader: join(folder, 'reader') };
      const running = Promise.allSettled([
        connection.exec(`touch ${marks.exec}; sleep 60`),
        createReader(connection, 'db-1').$`touch ${marks.reader}; sleep 60`,
      ]);
      const haveBegun = () => Object.values(marks).every((mark) => existsSync(mark));
      await expect.poll(haveBegun, { timeout: 60_000 }).toBe(true);
      proxy.cut();
      for (const result of await running) {
        expect(result.status).toBe('rejected');
        expect(result.status === 'rejected' && result.reason).toBeInstanceOf(ConnectionLost);
        expect(String(result.status === 'rejected' && result.reason)).toMatch(/db-1/);
      }
      await expect(connection.exec('true')).rejects.toThrow(ConnectionLost);
    } finally {
      proxy.close();
    }
  });

  test('a file with truncated content is not put in place', async () => {
    const proxy = await cuttable();
    const path = join(sshd.directory, 'written');
    writeFileSync(path, 'old');
    try {
      const connection = await open({ port: proxy.port });
      await connection.exec('true');
      const writing = makeSteps(hostOver(connection), {
        ...write(path, randomBytes(40_000_000)),
        secret: true,
      });
      const failed = expect(writing).rejects.toThrow(ConnectionLost);
      await delay(150);
      proxy.cut();
      await failed;
      await delay(500);
      expect(
        execFileSync('sh', [
          '-c',
          `cat ${path}; ls -A ${sshd.directory} | grep -c '^\\.written' || true`,
        ]).toString(),
      ).toBe('old0\n');
    } finally {
      proxy.close();
    }
  });

  test('a remote shell that is killed by a signal has failed', async () => {
    const connection = await open();
    expect((await connection.exec('kill -9 $$')).code).not.toBe(0);
  });

  test('through a jump host, each with its own key verified', async () => {
    const known = knownHosts(
      `[127.0.0.1]:${bastion.port} ${bastion.hostKey}\n${hostPart()} ${sshd.hostKey}\n`,
    );
    appendFileSync(`${bastion.clientKey}.pub`, readFileSync(`${sshd.clientKey}.pub`));
    const jump = [`root@127.0.0.1:${bastion.port}`];
    const connection = await open({ ...known, jump });
    const { stdout } = await connection.exec('echo $SSH_CONNECTION');
    expect(stdout.toString().trim().split(' ').at(-1)).toBe(String(sshd.port));

    const notKnown = knownHosts(`${hostPart()} ${sshd.hostKey}\n`);
    expect((await refusal({ ...notKnown, jump })).message).toMatch(/jump host .*is not known/s);
  });

  test('a secret on standard input is in no process list', async () => {
    const connection = await open();
    const secret = new Secret(`s3cret-${randomBytes(6).toString('hex')}`);
    const writer = createWriter(connection, 'db-1', { onProgress: () => {} });
    const path = join(sshd.directory, 'secret');
    const [read] = await Promise.all([
      writer.run({ stdin: secret })`sleep 1; cat >/dev/null; echo read`,
      makeSteps(hostOver(connection), { ...write(path, secret.reveal(), { mode: 0o600 }), secret: true }),
      delay(500).then(() => {
        expect(execFileSync('ps', ['axeww'], { maxBuffer: 2 ** 28 }).toString()).not.toContain(
          secret.reveal(),
        );
      }),
    ]);
    expect(read.text()).toBe('read');
    expect(execFileSync('stat', ['-c', '%a %s', path]).toString()).toBe(`600 ${secret.reveal().length}\n`);
  });

  /** A user of the machine for one test. */
  async function asUser(sudoers: string, run: (user: string) => Promise<void>): Promise<void> {
    const user = `rpct${randomBytes(3).toString('hex')}`;
    const rule = `/etc/sudoers.d/${user}`;
    execFileSync('useradd', ['-m', '-s', '/bin/sh', user]);
    try {
      execFileSync('chpasswd', { input: `${user}:right-password\n` });
      if (sudoers) writeFileSync(rule, `${user} ${sudoers}\n`, { mode: 0o440 });
      await run(user);
    } finally {
      await Promise.all(opened.splice(0).map((connection) => connection.close()));
      rmSync(rule, { force: true });
      spawnSync('userdel', ['-r', '-f', user], { stdio: 'ignore' });
    }
  }

  test('sudo without a password is used, and nothing is asked', async () => {
    await asUser('ALL=(ALL) NOPASSWD: ALL', async (user) => {
      const connection = await open({ user });
      expect((await connection.exec('id -u')).stdout.toString()).toBe('0\n');
      const { stdout } = await connection.exec(`id -u; cat #${'x'.repeat(200_000)}`, { stdin: 'given' });
      expect(stdout.toString()).toBe('0\ngiven');
    });
  });

  test('sudo with a password: right, wrong, missing, not allowed', async () => {
    await asUser('ALL=(ALL) ALL', async (user) => {
      const connection = await open({ user, becomePassword: new Secret('right-password') });
      for (const script of ['id -u; cat', `id -u; cat #${'x'.repeat(200_000)}`]) {
        const { stdout, code } = await connection.exec(script, { stdin: 'line one\nline two' });
        expect(stdout.toString()).toBe('0\nline one\nline two');
        expect(code).toBe(0);
      }
      const wrong = await refusal({ user, becomePassword: new Secret('wrong-password') });
      expect(wrong.message).toMatch(/did not take the password/);
      expect(`${wrong.message}${wrong.hint}`).not.toContain('wrong-password');
      expect((await refusal({ user })).message).toMatch(/wants a password/);
    });
    await asUser('', async (user) => {
      const error = await refusal({ user, becomePassword: new Secret('right-password') });
      expect(error.message).toMatch(/may not become root/);
    });
  });
});
