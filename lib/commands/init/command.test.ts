import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { asUser } from '../../engine/file/testing/other-users.ts';
import { run } from './command.ts';

const parent = mkdtempSync(join(tmpdir(), 'init-'));
afterAll(() => rmSync(parent, { recursive: true }));
let count = 0;
const newFolder = () => join(parent, `fleet-${count++}`);

/**
 * Runs init.
 *
 * @param answers typed on a terminal; undefined without one
 */
async function init(args: readonly string[], answers?: string[]) {
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  const ask =
    answers &&
    (async (question: string) => {
      said.push(question.trim());
      return answers.shift() ?? Promise.reject(new Error('asked too often'));
    });
  return { code: await run(args, { ask, say, complain: say }), said: said.join('\n') };
}

const inventoryOf = (folder: string, name: string) =>
  parse(readFileSync(join(folder, `inventory/${name}.yaml`), 'utf8'));

test('options fill in the hosts, and everything else stays to be filled in', async () => {
  const folder = newFolder();
  const args = [
    '--network',
    'main',
    '--database',
    'first=10.0.0.1',
    '--rpc',
    '10.0.0.2',
    '--rpc',
    'b=rpc.example.org',
  ];
  expect(await init([folder, ...args, '--user', 'ops'])).toMatchObject({ code: 0 });
  const { ssh, groups, vars } = inventoryOf(folder, 'mainnet');
  expect(ssh).toEqual({ user: 'ops' });
  expect(groups).toEqual({
    database: { first: { address: '10.0.0.1', region: expect.stringMatching(/^<FILL: region/) } },
    rpc: { 'rpc-1': { address: '10.0.0.2' }, b: { address: 'rpc.example.org' } },
  });
  expect(vars.snapshot.date).toMatch(/^<FILL: /);
});

test('without addresses the inventory is ours, and everything that it names is there', async () => {
  const folder = newFolder();
  expect(await init([folder, '--network', 'test'])).toMatchObject({ code: 0 });
  const root = new URL('../../../', import.meta.url);
  const ours = (file: string) => readFileSync(new URL(file, root), 'utf8');
  const made = (file: string) => readFileSync(join(folder, file), 'utf8');
  expect(made('inventory/testnet.yaml')).toBe(ours('inventory/testnet.yaml'));
  expect(made('inventory/testnet.yaml')).toMatch(/^# yaml-language-server: \$schema=schema\.json\n/);
  expect(made('inventory/schema.json')).toBe(ours('inventory/schema.json'));
  expect(JSON.parse(made('package.json')).dependencies).toEqual({
    'rpc-playbooks': JSON.parse(ours('package.json')).version,
  });
  expect(made('.gitignore')).toContain('.runs/\n');
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (file.isFile())
      expect(readFileSync(join(file.parentPath, file.name), 'utf8'), file.name).not.toMatch(/__[A-Z]/);
  }
});

test('one server for all components has its settings once', async () => {
  const folder = newFolder();
  await init([folder, '--network', 'test', '--database', 'one=10.0.0.1', '--rpc', 'one=10.0.0.1']);
  expect(inventoryOf(folder, 'testnet').groups).toEqual({
    database: { one: { address: '10.0.0.1' } },
    rpc: { one: null },
  });
});

test.each([
  ['db-1=10.0.0.3', 'db-1 has two addresses, 10.0.0.1 and 10.0.0.3'],
  ['10.0.0.1', 'rpc-1 and db-1 have one address, 10.0.0.1'],
  ['all=10.0.0.3', '--rpc all=10.0.0.3: all means several hosts in a pattern'],
])('no address is dropped: --rpc %s beside --database 10.0.0.1', async (rpc, words) => {
  const folder = newFolder();
  const outcome = await init([folder, '--network', 'test', '--database', '10.0.0.1', '--rpc', rpc]);
  expect(outcome).toMatchObject({ code: 3 });
  expect(outcome.said).toContain(words);
  expect(existsSync(folder)).toBe(false);
});

test('on a terminal it asks for what is missing, and again after a wrong answer', async () => {
  const folder = newFolder();
  const outcome = await init([folder, '--rpc', '10.0.0.2'], ['prod', 'test', '10.0.0.256', '10.0.0.1', '']);
  expect(outcome).toMatchObject({ code: 0 });
  expect(outcome.said).toContain(
    '--network prod: there is no such network\n  one of main, test\nnetwork, main or test:',
  );
  expect(outcome.said).toContain('--database 10.0.0.256: must be an IPv4 address of four numbers');
  expect(inventoryOf(folder, 'testnet')).toMatchObject({
    groups: { database: { 'db-1': { address: '10.0.0.1' } }, rpc: { 'rpc-1': { address: '10.0.0.2' } } },
  });
});

test('a folder that holds anything is refused, and stays as it is', async () => {
  const folder = newFolder();
  mkdirSync(folder);
  mkdirSync(join(folder, '.git'));
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) writeFileSync(join(folder, name), '');
  expect(await init([folder, '--network', 'test'])).toEqual({
    code: 3,
    said: `${folder} is not empty: a, b, c, d, e, and 1 more\n  init needs a new folder: name another one`,
  });
  expect(readdirSync(folder)).toHaveLength(7);
  expect((await init([join(folder, 'a'), '--network', 'test'])).said).toContain('/a is a file');
  expect((await init(['/proc/fleet', '--network', 'test'])).said).toContain(
    '/proc/fleet is in /proc, /sys or /dev',
  );
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) rmSync(join(folder, name));
  // A clone of a new repository.
  expect(await init([folder, '--network', 'test'])).toMatchObject({ code: 0 });
});

test.each([
  [[], 'the name of the folder is missing\n  init DIR, such as: init my-fleet'],
  [['DIR'], 'no --network given\n  one of main, test'],
  [
    ['DIR', '--network', 'test', '--rpc', 'a=10.0.0.1', '--rpc', 'a=10.0.0.2'],
    /^two RPC servers are named a\n/,
  ],
  [
    ['DIR', '--network', 'test', '--database', '.x=10.0.0.1'],
    /: a name starts with a letter or digit and holds/,
  ],
  [
    ['DIR', '--network', 'test', '--database', '10.0.0.1:22'],
    /^--database 10.0.0.1:22: .*without a port\n {2}port has/,
  ],
  [['DIR', '--network', 'test', '--user', 'a b'], /^--user a b: must be a user name/],
  [['DIR', 'two', '--network', 'test'], /^unexpected word "two"/],
])('bad input is refused and nothing is written: %j', async (args, said) => {
  const folder = newFolder();
  const outcome = await init(args.map((word) => (word === 'DIR' ? folder : word)));
  expect(outcome).toEqual({ code: 3, said: expect.stringMatching(said) });
  expect(existsSync(folder)).toBe(false);
});

test('a place that cannot be written is named', async () => {
  const file = newFolder();
  writeFileSync(file, '');
  const outcome = await init([join(file, 'my-fleet'), '--network', 'test']);
  expect(outcome).toEqual({
    code: 3,
    said: `${file}/my-fleet cannot be made (a part of its path is a file)`,
  });
  const closed = newFolder();
  mkdirSync(closed, { mode: 0o700 });
  const ofOther = await asUser(65_534, () => init([join(closed, 'my-fleet'), '--network', 'test']));
  expect(ofOther).toEqual({
    code: 3,
    said: `${closed}/my-fleet cannot be made (no permission to write in its folder)`,
  });
});
