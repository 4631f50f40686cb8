import { existsSync, readdirSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { settingsFor } from '../../lib/engine/host/testing/real-ssh.ts';
import type { ConnectionSettings } from '../../lib/engine/inventory/inventory.ts';
import { recordFolder } from '../../lib/node/project/project-folder.ts';
import { newUser, sshdWith, twoFactors } from '../ssh/login.ts';
import { installSshd } from '../ssh/sshd.ts';
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

/** A playbook on the terminal, on these hosts. */
function runOn(connection: ConnectionSettings, ...names: string[]): Terminal {
  const hosts = JSON.stringify(Object.fromEntries(names.map((name) => [name, connection])));
  const words = ['node_modules/zx/build/cli.js', 'test/terminal/asked.mjs', '--inventory', 'here', '--check'];
  const script = 'export ASKED_HOSTS="$1"; shift; "$@"; echo ended with $?; exec cat';
  const terminal = new Terminal(100, 20, 'sh', '-c', script, 'sh', hosts, process.execPath, ...words);
  onTestFinished(() => terminal.close());
  return terminal;
}

const questions = (screen: string[]) => screen.filter((line) => /Password:/.test(line)).length;

test('a second factor is asked for on the terminal, host by host, without showing what is typed', async () => {
  const sshd = await sshdWith(twoFactors);
  const user = newUser();
  const terminal = runOn(settingsFor(sshd, { user }), 'db-1', 'rpc-1');
  for (const count of [1, 2]) {
    await terminal.until((screen) => questions(screen) === count, 60);
    terminal.press('right-password', 'Enter');
  }
  const screen = (await terminal.until((rows) => rows.some((row) => /ended with/.test(row)), 60)).join('\n');
  expect(screen).toMatch(/ended with 0/);
  expect(screen).toMatch(/^(db|rpc)-1: .*Password:$/m);
  expect(screen).not.toContain('right-password');
});

test('Ctrl-C at the question of one host ends the run, and no other host asks', async () => {
  const sshd = await sshdWith(twoFactors);
  const names = Array.from({ length: 6 }, (_, at) => `rpc-${at + 1}`);
  const terminal = runOn(settingsFor(sshd, { user: newUser() }), ...names);
  await terminal.until((screen) => questions(screen) === 1, 60);
  // The others come to their questions, too.
  const begun = () => sshd.log().match(/Postponed keyboard-interactive/g) ?? [];
  await vi.waitFor(() => expect(begun().length).toBeGreaterThanOrEqual(names.length), 60_000);
  terminal.press('C-c');
  const screen = await terminal.until((rows) => rows.some((row) => /ended with/.test(row)), 60);
  expect(screen.join('\n')).toMatch(/ended with 130/);
  expect(questions(screen)).toBe(1);
});
