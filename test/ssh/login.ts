import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type Connection, connect } from '../../lib/engine/host/connection.ts';
import { Unreachable } from '../../lib/engine/host/connection-errors.ts';
import { temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { realSshWith, settingsFor } from '../../lib/engine/host/testing/real-ssh.ts';
import type { ConnectOptions } from '../../lib/engine/host/transport/transport.ts';
import type { ConnectionSettings } from '../../lib/engine/inventory/inventory.ts';
import { describeProblem } from '../../lib/engine/problem/problem.ts';
import type { Ask } from '../../lib/engine/secret/ask.ts';
import { type Sshd, startSshd } from './sshd.ts';

/** The lines of ssh_config that the real ssh reads. */
export const sshConfig = (...lines: string[]): string =>
  realSshWith(lines.map((line) => `${line}\n`).join(''));

export async function open(
  host: Sshd,
  more: Partial<ConnectionSettings> = {},
  options: ConnectOptions = {},
  name = 'db-1',
): Promise<Connection> {
  const connection = await connect(name, settingsFor(host, more), { retries: 0, ...options });
  onTestFinished(() => connection.close());
  return connection;
}

/** `in` after a login, and else why there is none. */
export async function said(
  host: Sshd,
  more: Partial<ConnectionSettings> = {},
  options: ConnectOptions | Ask = {},
  name = 'db-1',
): Promise<string> {
  try {
    const connection = await open(
      host,
      more,
      typeof options === 'function' ? { ask: options } : options,
      name,
    );
    return (await connection.exec('echo in')).stdout.toString().trim();
  } catch (error) {
    expect(error).toBeInstanceOf(Unreachable);
    return describeProblem(error as Unreachable);
  }
}

export async function sshdWith(lines: string): Promise<Sshd> {
  const own = await startSshd(lines);
  onTestFinished(() => own.stop());
  return own;
}

/** A key in a folder of its own: the path of its private part. */
export function newKey(...options: string[]): string {
  const key = join(temporaryDirectory(), 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', key, ...options]);
  return key;
}

export const publicKey = (path: string) => readFileSync(`${path}.pub`, 'utf8').trim();

/** An agent with these keys: its socket. */
export function agentWith(...keys: string[]): string {
  const socket = join(temporaryDirectory(), 'agent');
  const agent = execFileSync('ssh-agent', ['-a', socket], { encoding: 'utf8' });
  onTestFinished(() => void process.kill(Number(/AGENT_PID=(\d+)/.exec(agent)?.[1])));
  execFileSync('ssh-add', ['-q', ...keys], {
    env: { ...process.env, SSH_AUTH_SOCK: socket },
    stdio: 'ignore',
  });
  return socket;
}

/** A user of the machine with the password `right-password`, who may become root. */
export function newUser(): string {
  const user = `rpct${randomBytes(3).toString('hex')}`;
  const rule = `/etc/sudoers.d/${user}`;
  execFileSync('useradd', ['-m', '-s', '/bin/sh', user]);
  onTestFinished(() => {
    rmSync(rule, { force: true });
    spawnSync('userdel', ['-r', '-f', user], { stdio: 'ignore' });
  });
  execFileSync('chpasswd', { input: `${user}:right-password\n` });
  writeFileSync(rule, `${user} ALL=(ALL) NOPASSWD: ALL\n`, { mode: 0o440 });
  return user;
}

/** Lines of sshd_config: a key, then a password. */
export const twoFactors =
  'LogLevel VERBOSE\nUsePAM yes\nKbdInteractiveAuthentication yes\nAuthenticationMethods publickey,keyboard-interactive';
