import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { filledInventory } from '../lib/node/testing/filled-inventory.ts';

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

/**
 * The inventory for a test network, with a value in place of each that an operator has to fill in.
 */
function filledIn(inventory = readFileSync(join(root, 'inventory/testnet.yaml'), 'utf8')): string {
  const answers = {
    database: '127.0.0.1',
    rpc: '127.0.0.2',
    password: 'password',
    url: 'http://127.0.0.1:9/x',
  };
  return filledInventory(inventory, answers);
}

/** The installed program, from a working directory. */
function program(cwd: string, ...words: readonly string[]) {
  const script = join(installed, 'lib/start/rpc-playbooks.mjs');
  const env = { ...process.env, NO_COLOR: '1' };
  return spawnSync(process.execPath, [script, ...words], { cwd, env, encoding: 'utf8' });
}

test.each([
  ['lib/start/rpc-playbooks.mjs', 'init', 'new'],
  ['playbooks/deploy.mjs'],
  ['playbooks/status.mjs'],
])('the Node of Debian 12 and Ubuntu 24.04 is refused in words: %s', (script, ...words) => {
  const node =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } })";
  const older = ['--import', `data:text/javascript,${encodeURIComponent(node)}`];
  const run = spawnSync(process.execPath, [...older, join(root, script), ...words], { encoding: 'utf8' });
  expect(run.stderr).toBe(
    'this is Node 18.20.8, and rpc-playbooks needs Node 20 or later\n  nodejs.org has newer ones; node --version shows which one the shell finds\n',
  );
  expect(run.status).toBe(3);
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(engines.node).toBe('>=20');
});

test.each(['', 'templates/project/'])(
  'npm, pnpm and bun run no install script, here and in a new project: %s',
  (place) => {
    const read = (file: string) => readFileSync(join(root, file), 'utf8');
    const lock: { readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>> } =
      JSON.parse(read('package-lock.json'));
    const names = Object.entries(lock.packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, ''));
    const refused = Object.fromEntries(names.map((name) => [name, false]));
    expect(JSON.parse(read(`${place}package.json`)).allowScripts).toEqual(refused);
    expect(parse(read(`${place}pnpm-workspace.yaml`))).toEqual({ packages: ['.'], allowBuilds: refused });
    expect(JSON.parse(read(`${place}package.json`)).trustedDependencies).toEqual([]);
  },
);

test.each([
  ['a clone', '.'],
  ['a new project', 'templates/project/dot-'],
])('yarn and pnpm 9 run no install script in %s, and commands find packages in node_modules', (_, dot) => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const { allowScripts, dependenciesMeta } = JSON.parse(read(dot.replace(/(dot-|\.)$/, 'package.json')));
  expect(dependenciesMeta).toEqual(
    Object.fromEntries(Object.keys(allowScripts).map((name) => [name, { built: false }])),
  );
  expect(parse(read(`${dot}yarnrc.yml`))).toEqual({ enableScripts: false, nodeLinker: 'node-modules' });
  expect(read(`${dot}yarnrc`)).toContain('--install.ignore-scripts true\n');
  // pnpm 9 reads it from here.
  expect(read(`${dot}npmrc`)).toContain('ignore-scripts=true\n');
});

test('an installed package does not name the commit of the repository around it', async () => {
  execFileSync('git', ['init', '-q', folder]);
  execFileSync('git', [
    '-C',
    folder,
    '-c',
    'user.name=a',
    '-c',
    'user.email=a@b',
    'commit',
    '-qm',
    'x',
    '--allow-empty',
  ]);
  const { thisHolder } = await import(join(installed, 'lib/engine/run/lock/lock-holder.ts'));
  expect(thisHolder('deploy', 'one', 0).commit).toBeUndefined();
});

test('the package has what runs, and no tests', () => {
  const names = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter(
    (name) => !/^node_modules/.test(name),
  );
  expect(names).toEqual(
    expect.arrayContaining(['playbooks/deploy.mjs', 'roles/sync.ts', 'templates/host', 'README.md']),
  );
  expect(names.filter((name) => /\.test\.ts$|testdata|testing/.test(name))).toEqual([]);
});

test.each([[], ['--help'], ['-h'], ['help']])('%j shows each command with its sentence', (...words) => {
  const { stdout, stderr, status } = program(folder, ...words);
  expect(stdout, stderr).toMatch(/\nWatch\n {2}status +show the health of every host\n/);
  expect(status).toBe(words.length === 0 ? 3 : 0);
});

test('help NAME shows what NAME --help shows', () => {
  const help = program(folder, 'help', 'status');
  expect(help.stdout).toBe(program(folder, 'status', '--help').stdout);
  expect(help.status).toBe(0);
  expect(program(folder, 'help', 'sttaus').stderr).toContain(
    'there is no command sttaus\n  did you mean status?\n',
  );
});

test("inventories are found in the team's own folder: by -C, or upwards from the working directory", () => {
  const words = ['deploy', '--list-hosts', '--inventory', 'one'];
  for (const run of [program(folder, ...words, '-C', fleet), program(deep, ...words)]) {
    expect(run.stdout, run.stderr).toContain('db-1');
    expect(run.status).toBe(0);
  }
});

test("outside of a project folder a name is not that of the program's own inventory", () => {
  for (const command of ['validate', 'deploy', 'secrets show']) {
    const run = program(folder, ...command.split(' '), '--inventory', 'testnet');
    expect(run.stderr, command).toBe(
      '--inventory testnet is a name, and no project folder is here or above: none has rpc-playbooks.yaml\n  go into your project folder, or name it: -C DIR; init makes one\n',
    );
    expect(run.status).toBe(3);
  }
  const file = program(folder, 'deploy', '--list-hosts', '--inventory', 'my-fleet/inventory/one.yaml');
  expect(file.stdout, file.stderr).toContain('db-1');
  expect(program(installed, 'validate', '--inventory', 'testnet').stderr).toContain('is not filled in');
});

test('commands in messages have -C where the run has it', () => {
  const shown = program(folder, 'secrets', 'show', '--inventory', 'one', '-C', fleet);
  expect(shown.stderr).toContain(`npx rpc-playbooks secrets -C ${fleet} --inventory one generate`);
  const there = program(fleet, 'secrets', 'show', '--inventory', 'one');
  expect(there.stderr).toContain('npx rpc-playbooks secrets --inventory one generate');
});

test("a template of the team's own folder has priority, and is named where it is wrong", () => {
  const own = join(fleet, 'templates/current');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'node.config.toml'), '[State\n');
  const run = program(folder, 'validate', '-C', fleet, '--inventory', 'one');
  expect(run.status, run.stdout).toBe(3);
  expect(run.stderr).toContain(`${own}/node.config.toml:1:`);
});

test('the command comes before its options', () => {
  const run = program(fleet, '-i', 'one', 'deploy', '--check');
  expect([run.status, run.stderr]).toEqual([
    3,
    'unexpected option "-i"\n  the command comes first: rpc-playbooks deploy -i …; only -C DIR may be before it\n',
  ]);
});

test('a command or a folder that does not exist is refused', () => {
  const unknown = program(folder, 'deplyo');
  expect([unknown.status, unknown.stderr]).toEqual([
    3,
    expect.stringMatching(
      /^there is no command deplyo\n {2}did you mean deploy\?\n\nUsage: .*\n\nDeploy\n {2}deploy +deploy, or/,
    ),
  ]);
  expect(program(folder, 'deploy', '-C', 'nowhere')).toMatchObject({
    status: 3,
    stderr: '-C nowhere: there is no such folder\n  name the folder of your inventories after -C\n',
  });
  expect(program(fleet, 'deploy', '-C', 'inventory/one.yaml').stderr).toBe(
    '-C inventory/one.yaml: that is a file\n  name the folder of your inventories after -C\n',
  );
  expect(program(folder, 'deploy', '-C', fleet, '-C', folder).stderr).toBe(
    '-C is named twice\n  name one folder after it\n',
  );
  expect(program(folder, 'deploy', '--help').stdout).toContain(
    '\n  npx rpc-playbooks deploy --inventory mainnet\n',
  );
  expect(program(folder, '--version').stdout).toMatch(/^rpc-playbooks \d+\.\d+\.\d+\n$/);
});

test('a shell in a folder that was removed is told so, and -C leaves it', () => {
  const fromRemoved = (words: string) => {
    const script = join(installed, 'lib/start/rpc-playbooks.mjs');
    const line = `mkdir removed && cd removed && rmdir ../removed && exec node ${script} ${words}`;
    return spawnSync('sh', ['-c', line], { cwd: folder, encoding: 'utf8' });
  };
  expect(fromRemoved('validate -i one')).toMatchObject({
    status: 3,
    stderr: 'the folder that this shell is in was removed\n  cd to the folder of your inventories\n',
  });
  const left = fromRemoved(`deploy -i one --list-hosts -C ${fleet}`);
  expect(left.stdout, left.stderr).toContain('db-1');
});

test('init makes a folder that says what is to be filled in, and then works', () => {
  const made = program(
    folder,
    'init',
    'new',
    '--network',
    'test',
    '--database',
    '127.0.0.1',
    '--rpc',
    'web=127.0.0.2',
  );
  expect(made.stdout, made.stderr).toMatch(
    /^made new: .*\n {2}next: fill in each <FILL: …> of new\/inventory\/testnet.yaml/,
  );
  const project = join(folder, 'new');
  const inventory = join(project, 'inventory/testnet.yaml');
  const empty = program(project, 'validate', '--inventory', 'testnet');
  const fills = readFileSync(inventory, 'utf8')
    .split('\n')
    .flatMap((line, at) => (/^[^#]*<FILL/.test(line) ? [at + 1] : []));
  expect(empty.stderr.match(/(?<=^inventory\/testnet.yaml:)\d+/gm)?.map(Number)).toEqual(fills);
  expect(fills.length).toBeGreaterThan(8);
  expect(empty.status).toBe(3);
  writeFileSync(inventory, filledIn(readFileSync(inventory, 'utf8')));
  writeFileSync(join(project, 'inventory/password'), 'Passw0rd-of-a-test', { mode: 0o600 });
  const valid = program(project, 'validate', '--inventory', 'testnet');
  expect(valid.stdout, valid.stderr).toMatch(/^testnet is valid: 2 hosts, /);
  expect(program(join(project, 'inventory'), 'deploy', '-i', 'testnet', '--list-hosts').stdout).toMatch(
    /db-1[\s\S]*web/,
  );
  const again = program(folder, 'init', 'new', '--network', 'test');
  expect(again).toMatchObject({
    status: 3,
    stderr: expect.stringMatching(/^new is not empty: .github, .*, and 5 more\n/),
  });
});

test('the page for the start has the answers of init and validate, to the character', () => {
  const page = readFileSync(join(root, 'docs/start.md'), 'utf8');
  const blocks = [...page.matchAll(/^ {3}```console\n([\s\S]*?)^ {3}```$/gm)].map(([, block = '']) =>
    block.replaceAll(/^ {3}/gm, '').trimEnd(),
  );
  const shown = (command: string) => {
    const block = blocks.find((each) => each.startsWith(`$ ${command}`)) ?? '';
    return block.slice(2).split('\n');
  };
  const [first = '', ...made] = shown('rpc-playbooks init');
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const init = program(empty, ...first.split(' ').slice(1));
  expect(`${init.stdout}${init.stderr}`.trimEnd().split('\n')).toEqual(made);
  const [second = '', ...faults] = shown('npx rpc-playbooks validate');
  const validate = program(join(empty, 'my-fleet'), ...second.split(' ').slice(2));
  expect(validate.stderr.trimEnd().split('\n')).toEqual(faults);
});

describe("roles and playbooks of the team's own folder", () => {
  const roles = join(fleet, 'roles');
  const role = join(roles, 'operators.ts');
  const script = join(fleet, 'playbooks/operators.mjs');
  const goodRole = `import { packages, role } from 'rpc-playbooks/roles';
import { tools } from './tools/tools.ts';
export default role('operators', () => [packages(...tools)]);\n`;
  beforeAll(() => {
    for (const made of ['roles/tools', 'playbooks', 'node_modules'])
      mkdirSync(join(fleet, made), { recursive: true });
    symlinkSync(installed, join(fleet, 'node_modules/rpc-playbooks'));
    writeFileSync(join(roles, 'tools/tools.ts'), `export const tools: string[] = ['tmux'];\n`);
    writeFileSync(
      script,
      `import { play, playbook, roles, runPlaybook } from 'rpc-playbooks';
await runPlaybook(playbook('operators', 'gives operators their tools.', [play('all', { hosts: 'all', roles: await roles('operators', 'docker') })]));\n`,
    );
  });
  beforeEach(() => writeFileSync(role, goodRole));
  afterEach(() => rmSync(role, { force: true }));

  test('they are found by their names, with our roles beside them', () => {
    writeFileSync(
      join(fleet, 'inventory/local.yaml'),
      filledIn().replace('address: 127.0.0.1', 'address: 127.0.0.1\n      connection: local'),
    );
    const words = ['--list-tasks', '--inventory', 'local', '--limit', 'db-1', '-C', fleet];
    const run = program(folder, 'operators', ...words);
    expect(run.stdout, run.stderr).toMatch(/tmux[\s\S]*docker/);
    expect(run.status).toBe(0);
    const zx = [join(root, 'node_modules/zx/build/cli.js'), script, ...words];
    expect(spawnSync(process.execPath, zx, { cwd: folder, encoding: 'utf8' }).stdout).toBe(run.stdout);
    expect(program(folder, '-C', fleet, '--help').stdout).toMatch(
      /\n {2}deploy +deploy, or[\s\S]*\n\nYour own\n {2}operators\n/,
    );
  });

  test('the hosts of a run are those of its plays', () => {
    const own = join(fleet, 'playbooks/one-host.mjs');
    const text = readFileSync(script, 'utf8');
    writeFileSync(
      own,
      text.replace("playbook('operators'", "playbook('one-host'").replace("hosts: 'all'", "hosts: 'db-1'"),
    );
    const run = (...words: string[]) => program(fleet, 'one-host', '--inventory', 'one', ...words);
    expect(run('--list-hosts').stdout).toMatch(/^db-1 [^\n]*\n$/);
    expect(run('--limit', 'rpc', '--check')).toMatchObject({
      status: 3,
      stderr:
        'this run has no task: no host of --limit rpc has a role of the playbook one-host\n  hosts for it: db-1\n',
    });
    expect(run('--skip-role', 'operators,docker', '--check').stderr).toContain(
      'no host of the inventory one has a role that is left\n',
    );
    rmSync(own);
  });

  test('a change of a file that a role imports is noticed', () => {
    writeFileSync(join(roles, 'tools/tools.ts'), 'export const other = 1;\n');
    const run = program(fleet, 'validate', '--inventory', 'one');
    expect(run.stderr).toContain(`${role}:2:10: No matching export in "`);
    writeFileSync(join(roles, 'tools/tools.ts'), `export const tools: string[] = ['tmux'];\n`);
    expect(program(fleet, 'validate', '--inventory', 'testnet').stderr).not.toContain('No matching export');
  });

  test('a change of a role compiles that role alone', () => {
    const cache = join(root, 'node_modules/.cache/rpc-playbooks');
    const validate = () => {
      program(fleet, 'validate', '--inventory', 'one');
      return readdirSync(cache);
    };
    const before = validate();
    writeFileSync(role, goodRole.replace('...tools', "'zsh'"));
    const made = validate().filter((name) => !before.includes(name));
    expect(made.map((name) => statSync(join(cache, name, 'program.cjs')).size < 10_000)).toEqual([true]);
  });

  test.each<[what: string, spoil: () => void, said: () => string, undo: () => void]>([
    [
      'a role with the name of one of ours',
      () => writeFileSync(join(roles, 'docker.ts'), goodRole),
      () => `${roles}/docker.ts: rpc-playbooks has a role docker\n  give yours another name\n`,
      () => rmSync(join(roles, 'docker.ts')),
    ],
    [
      'a playbook with the name of one of ours',
      () => writeFileSync(join(fleet, 'playbooks/deploy.mjs'), ''),
      () => `${fleet}/playbooks/deploy.mjs: rpc-playbooks has a playbook deploy\n  give yours another name\n`,
      () => rmSync(join(fleet, 'playbooks/deploy.mjs')),
    ],
    [
      'a role that imports from elsewhere in the folder',
      () => writeFileSync(role, "import '../inventory/x.ts';\n"),
      () =>
        `${role}:1:8: ../inventory/x.ts is outside of roles/: a role imports from files in it, or a package\n`,
      () => {},
    ],
    [
      'a role that imports what is for playbooks',
      () => writeFileSync(role, "import { play } from 'rpc-playbooks';\nexport default play;\n"),
      () => `${role}:1:22: rpc-playbooks is for playbooks: a role imports from rpc-playbooks/roles\n`,
      () => {},
    ],
    [
      'a role that imports a kind that there is not',
      () => writeFileSync(role, "import { pakages } from 'rpc-playbooks/roles';\nexport default pakages;\n"),
      () => `${role}:1:10: No matching export in "package:rpc-playbooks/roles" for import "pakages"\n`,
      () => {},
    ],
    [
      'a role that fails where it is read',
      () => writeFileSync(role, "throw new Error('not now');\n"),
      () => `${role} cannot be loaded: not now\n  --verbose shows where\n`,
      () => {},
    ],
    [
      'a role that anybody may write',
      () => chmodSync(role, 0o666),
      () =>
        `${role} can be changed by every user (mode 0666): what others can write is not used\n  chmod go-w ${role}; or `,
      () => chmodSync(role, 0o644),
    ],
    [
      'a role of another user',
      () => chownSync(role, 65534, 65534),
      () => `${role} belongs to nobody (uid 65534, mode 0644): what others can write is not used\n`,
      () => chownSync(role, 0, 0),
    ],
    [
      'a folder without the package',
      () => rmSync(join(fleet, 'node_modules/rpc-playbooks')),
      () => '  a playbook of your own uses the packages of its folder: npm install\n',
      () => symlinkSync(installed, join(fleet, 'node_modules/rpc-playbooks')),
    ],
  ])('%s is refused', (_, spoil, said, undo) => {
    spoil();
    const run = program(fleet, 'operators', '--list-tasks', '-i', 'one');
    undo();
    expect(run.stderr).toContain(said());
    expect(run).toMatchObject({ status: 3, stdout: '' });
  });

  test.each<[what: string, text: string, said: (file: string) => string, code: number]>([
    [
      'a fault in the syntax',
      'const hosts = {\n',
      (file) => `${file}:2:1: Expected identifier but found end of file\n`,
      3,
    ],
    [
      'an import that its module does not have',
      "import { nothing } from 'rpc-playbooks';\n",
      (file) =>
        `${file}:1: The requested module 'rpc-playbooks' does not provide an export named 'nothing'\n  --verbose shows all of it\n`,
      3,
    ],
    [
      'code that fails',
      '\nconst hosts = undefined;\nhosts.all();\n',
      (file) =>
        `${file}:3:7: Cannot read properties of undefined (reading 'all')\n  --verbose shows all of it\n`,
      1,
    ],
  ])('%s in a playbook of their own is named with its place, without a stack', (_, text, said, code) => {
    const own = join(fleet, 'playbooks/wrong.mjs');
    writeFileSync(own, text);
    const run = program(fleet, 'wrong', '--list-tasks', '-i', 'one');
    const verbose = program(fleet, 'wrong', '--list-tasks', '-i', 'one', '--verbose');
    rmSync(own);
    expect(run).toMatchObject({ status: code, stdout: '', stderr: said(own) });
    expect(verbose).toMatchObject({ status: code, stderr: expect.stringMatching(/\n {4}at /) });
  });
});
