import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'package-'));
const installed = join(folder, 'package');
const fleet = join(folder, 'my-fleet');
const deep = join(fleet, 'inventory/notes');

beforeAll(() => {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
  const [archive = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  execFileSync('tar', ['-xzf', archive], { cwd: folder });
  symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'));
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(fleet, 'rpc-playbooks.yaml'), '');
  writeFileSync(join(fleet, 'inventory/one.yaml'), filledIn());
  writeFileSync(join(fleet, 'inventory/password'), 'Passw0rd-of-a-test', { mode: 0o600 });
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

/** The inventory for a test network, with a value in place of each that an operator has to fill in. */
function filledIn(): string {
  const text = readFileSync(join(root, 'inventory/testnet.yaml'), 'utf8')
    .replace("'<FILL: address of the Database+Sync server>'", '127.0.0.1')
    .replace("'<FILL: address of the RPC server>'", '127.0.0.2')
    .replace(/'<FILL: day [^>]*>'/, "'2026-11-01'")
    .replaceAll(/'<FILL: SHA-256 [^>]*>'/g, `'${'0'.repeat(64)}'`)
    .replaceAll('<FILL: registry and owner>', 'registry.example.org')
    .replaceAll(/secret:\w+/g, 'file:password');
  return text.replaceAll(/<FILL: [^>]*>/g, 'http://127.0.0.1:9/x');
}

/** The installed program, from a working directory. */
function program(cwd: string, ...words: readonly string[]) {
  const script = join(installed, 'lib/start/rpc-playbooks.mjs');
  const env = { ...process.env, NO_COLOR: '1' };
  return spawnSync(process.execPath, [script, ...words], { cwd, env, encoding: 'utf8' });
}

test('the package has what runs, and no tests', () => {
  const names = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter(
    (name) => !/^node_modules/.test(name),
  );
  expect(names).toEqual(
    expect.arrayContaining(['playbooks/deploy.mjs', 'roles/sync.ts', 'templates/host', 'README.md']),
  );
  expect(names.filter((name) => /\.test\.ts$|testdata|testing/.test(name))).toEqual([]);
});

test("inventories are found in the team's own folder: by -C, or upwards from the working directory", () => {
  const words = ['deploy', '--list-hosts', '--inventory', 'one'];
  for (const run of [program(folder, ...words, '-C', fleet), program(deep, ...words)]) {
    expect(run.stdout, run.stderr).toContain('db-1');
    expect(run.status).toBe(0);
  }
  const elsewhere = program(folder, ...words);
  expect(elsewhere.status).toBe(3);
});

test("a template of the team's own folder has priority, and is named where it is wrong", () => {
  const own = join(fleet, 'templates/current');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'node.config.toml'), '[State\n');
  const run = program(folder, 'validate', '-C', fleet, '--inventory', 'one');
  expect(run.status, run.stdout).toBe(3);
  expect(run.stderr).toContain(`${own}/node.config.toml:1:`);
});

test('a command or a folder that does not exist is refused', () => {
  const unknown = program(folder, 'deplyo');
  expect([unknown.status, unknown.stderr]).toEqual([
    3,
    expect.stringMatching(/^there is no command deplyo\n.*\n\nCommands: .*deploy, /s),
  ]);
  expect(program(folder, 'deploy', '-C', 'nowhere')).toMatchObject({
    status: 3,
    stderr: '-C nowhere: there is no such folder\n  name the folder of your inventories after -C\n',
  });
  expect(program(folder, '--version').stdout).toMatch(/^rpc-playbooks \d+\.\d+\.\d+\n$/);
});
