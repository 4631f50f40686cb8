import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSession } from '../../engine/host/open-session.ts';
import { standInFor, temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { labDeployment } from '../../node/testing/lab-deployment.ts';
import { run as factsCommand } from '../facts/command.ts';
import { run as pingCommand } from '../ping/command.ts';
import { run as runCommand } from '../run/command.ts';
import type { Around } from './each-host.ts';

/** The lab's inventory with db-1 as this machine, and RPC hosts that refuse the connection. */
function inventory(): Promise<string> {
  return labDeployment([
    [['groups', 'database', 'db-1', 'connection'], 'local'],
    [['groups', 'rpc', 'rpc-1', 'address'], '127.0.0.1'],
    [['groups', 'rpc', 'rpc-1', 'port'], 9],
    [['groups', 'rpc', 'rpc-1', 'vars'], { firewall: { connects_from: ['10.0.0.9'] } }],
  ]);
}

async function ended(
  command: (args: readonly string[], around: Around) => Promise<number>,
  ...args: readonly string[]
): Promise<{ code: number; said: string[]; complained: string[] }> {
  const [said, complained]: string[][] = [[], []] as [string[], string[]];
  const code = await command(args, {
    open: openSession,
    say: (line) => void said?.push(line),
    complain: (line) => void complained?.push(line),
  });
  return { code, said: said ?? [], complained: complained ?? [] };
}

test('ping says which hosts answer, and ends with 4 where one does not', async () => {
  const lab = await inventory();
  const one = await ended(pingCommand, '-i', lab, '-l', 'db-1');
  expect(one).toMatchObject({ code: 0, complained: [] });
  expect(one.said).toEqual([expect.stringMatching(/^db-1 {2}answers, [\d.]+ m?s, \S+/)]);
  const two = await ended(pingCommand, '-i', lab, '-l', 'db-1,rpc-1');
  expect(two.code).toBe(4);
  expect(two.said).toEqual([
    expect.stringMatching(/^db-1 {3}answers/),
    // A command in the advice stands on a line of its own, or up to the next semicolon.
    expect.stringMatching(/^rpc-1 {2}unreachable: [^\n;]+\nrpc-1 {6}\S/),
  ]);
});

test.each([
  ['ping', pingCommand, []],
  ['facts', factsCommand, []],
  ['run', runCommand, ['--read', '--', 'id']],
] as const)(
  '%s connects to no host whose ssh_config ssh cannot read, and shows what ssh says',
  async (_, command, more) => {
    const config = join(temporaryDirectory(), 'config');
    writeFileSync(config, 'Host *\n  User u1\n  IdentitiesOnly perhaps\n');
    standInFor('ssh', `[ "$1" = -F ] || set -- -F ${config} "$@"; exec /usr/bin/ssh "$@"`);
    const { code, said, complained } = await ended(command, '-i', await inventory(), '-l', 'rpc-1', ...more);
    expect(code).toBe(4);
    expect([...said, ...complained].join('\n')).toMatch(
      new RegExp(
        `ssh cannot read its configuration for 127\\.0\\.0\\.1: ${config} line 3: unsupported option "perhaps"`,
      ),
    );
  },
);

test('facts are lines for people, or one JSON document', async () => {
  const lab = await inventory();
  const text = await ended(factsCommand, '-i', lab, '-l', 'db-1');
  expect(text.code).toBe(0);
  expect(text.said.join('\n')).toMatch(
    /^db-1 {2}system +\S.*, kernel .*\ndb-1[\s\S]*^db-1 {2}memory +[\d.]+ \w+$/m,
  );
  const json = await ended(factsCommand, '-i', lab, '-l', 'db-1,rpc-1', '--json');
  expect(json.code).toBe(4);
  expect(JSON.parse(json.said.join('\n'))).toMatchObject({
    'db-1': { architecture: expect.any(String), memory: expect.any(Number) },
    'rpc-1': { error: expect.stringContaining('rpc-1') },
  });
});

test('facts has the variables that not all hosts have, with their places', async () => {
  const lab = await labDeployment([
    [['groups', 'database', 'db-1', 'connection'], 'local'],
    [['groups', 'database', 'vars'], { disk_alert: { webhook: 'https://hooks.example/services/Key0123' } }],
  ]);
  const text = (await ended(factsCommand, '-i', lab, '-l', 'db-1')).said.join('\n');
  expect(text).toMatch(
    /^db-1 {2}variable +disk_alert\.webhook https:\/\/hooks\.example\/… \(group database, .*lab\.yaml:\d+:\d+\)$/m,
  );
  expect(text).not.toContain('Key0123');
  const json = await ended(factsCommand, '-i', lab, '-l', 'db-1', '--json');
  expect(JSON.parse(json.said.join('\n'))['db-1'].variables).toContainEqual({
    name: 'disk_alert.webhook',
    shown: 'https://hooks.example/…',
    of: 'group database',
    where: expect.stringMatching(/lab\.yaml:\d+:\d+$/),
  });
});

test('a command runs on each host, with its output beside the name and its exit code', async () => {
  const lab = await inventory();
  const words = ['-i', lab, '-l', 'db-1', '--read', '--'];
  expect(await ended(runCommand, ...words, 'printf', '%s\\n', 'a b', '--all')).toMatchObject({
    code: 0,
    said: ['db-1  a b', 'db-1  --all'],
  });
  expect(await ended(runCommand, ...words, 'echo out; echo err >&2; exit 3')).toMatchObject({
    code: 1,
    said: ['db-1  out', 'db-1  err', 'db-1  ended with 3'],
  });
  expect((await ended(runCommand, ...words, 'true')).said).toEqual(['db-1  ended with 0']);
  expect((await ended(runCommand, ...words, "printf '\\033[2J'")).said).toEqual(['db-1  \\x1b[2J']);
  const slow = await ended(
    runCommand,
    '-i',
    lab,
    '-l',
    'db-1',
    '--read',
    '--command-timeout',
    '1',
    '--',
    'sleep 9',
  );
  expect(slow.code).toBe(1);
  expect(slow.said.at(-1)).toBe('db-1  took longer than its time limit');
});

test('a command that changes takes the lock, and is refused while another run has it', async () => {
  const lab = await inventory();
  const folder = temporaryDirectory();
  const [file, mayEnd] = ['changed', 'end'].map((name) => join(folder, name)) as [string, string];
  const words = ['-i', lab, '-l', 'db-1', '--change', '--'];
  const first = ended(runCommand, ...words, `touch ${file}; until [ -e ${mayEnd} ]; do sleep 0.1; done`);
  await expect.poll(() => existsSync(file), { timeout: 60_000 }).toBe(true);
  const second = await ended(runCommand, ...words, 'true');
  writeFileSync(mayEnd, '');
  expect(second.code).toBe(5);
  expect(second.complained.join()).toMatch(/db-1 is locked by .*run/);
  expect((await first).code).toBe(0);
  expect((await ended(runCommand, ...words, 'true')).code).toBe(0);
});

test.each([
  [['--read'], 'no command is given'],
  [['--read', '--'], 'no command is given'],
  [['--read', '--', ''], 'no command is given'],
  [['--change', '--', ' ', ''], 'no command is given'],
  [['--', 'true'], 'neither --read nor --change is given'],
  [['--read', '--change', '--', 'true'], '--read and --change do not go together'],
  [['uptime'], 'unexpected word "uptime"'],
])('run %j is refused before a connection', async (args, message) => {
  const run = await ended(runCommand, '-i', 'mainnet', ...args);
  expect(run.code).toBe(3);
  expect(run.complained.join()).toContain(message);
});
