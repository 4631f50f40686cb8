import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { settingsFor } from '../../lib/engine/host/testing/real-ssh.ts';
import { recordFolder } from '../../lib/node/project/project-folder.ts';
import { installSshd, startSshd } from '../ssh/sshd.ts';
import { install, Terminal } from './tmux.ts';

beforeAll(async () => {
  installSshd();
  await install('tmux');
});

afterAll(() => {
  const records = existsSync(recordFolder) ? readdirSync(recordFolder) : [];
  for (const name of records)
    if (name.includes('-asked-test.')) rmSync(`${recordFolder}/${name}`, { recursive: true });
});

test('a second factor is asked for on the terminal, host by host, without showing what is typed', async () => {
  const sshd = await startSshd(
    'UsePAM yes\nKbdInteractiveAuthentication yes\nAuthenticationMethods publickey,keyboard-interactive',
  );
  onTestFinished(() => sshd.stop());
  const user = `rpct${randomBytes(3).toString('hex')}`;
  execFileSync('useradd', ['-m', '-s', '/bin/sh', user]);
  const rule = `/etc/sudoers.d/${user}`;
  onTestFinished(() => {
    rmSync(rule, { force: true });
    spawnSync('userdel', ['-r', '-f', user], { stdio: 'ignore' });
  });
  execFileSync('chpasswd', { input: `${user}:right-password\n` });
  writeFileSync(rule, `${user} ALL=(ALL) NOPASSWD: ALL\n`, { mode: 0o440 });
  const connection = settingsFor(sshd, { user });
  const hosts = JSON.stringify({ 'db-1': connection, 'rpc-1': connection });
  const words = ['node_modules/zx/build/cli.js', 'test/terminal/asked.mjs', '--inventory', 'here', '--check'];
  const script = 'export ASKED_HOSTS="$1"; shift; "$@"; echo ended with $?; exec cat';
  const terminal = new Terminal(100, 20, 'sh', '-c', script, 'sh', hosts, process.execPath, ...words);
  onTestFinished(() => terminal.close());
  const questions = (screen: string[]) => screen.filter((line) => /Password:/.test(line)).length;
  for (const count of [1, 2]) {
    await terminal.until((screen) => questions(screen) === count, 60);
    terminal.press('right-password', 'Enter');
  }
  const screen = (await terminal.until((rows) => rows.some((row) => /ended with/.test(row)), 60)).join('\n');
  expect(screen).toMatch(/ended with 0/);
  expect(screen).toMatch(/^(db|rpc)-1: .*Password:$/m);
  expect(screen).not.toContain('right-password');
});
