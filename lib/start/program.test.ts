import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * A project of two commands and a role that share a module, and a package that finds its file
 * beside itself.
 */
let project: string;
let cache: string;
function makeProject(): void {
  project = mkdtempSync(join(tmpdir(), 'compiled $$ $& #%-'));
  cache = join(project, 'node_modules/.cache/rpc-playbooks');
  for (const folder of [
    'lib/commands/playbook',
    'lib/commands/other',
    'lib/engine/resource',
    'lib/start',
    'roles',
    'node_modules',
    'temporary',
  ])
    mkdirSync(join(project, folder), { recursive: true });
  for (const name of ['esbuild', 'ssh2', 'node-ssh', 'zx']) {
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  }
  const starts = ['cache', 'command-line', 'compile', 'end', 'own', 'program'].map(
    (name) => `start/${name}.mjs`,
  );
  const files = ['accounts', 'nearest', 'trust'].map((name) => `engine/file/${name}.mjs`);
  const folders = ['marked-folder', 'project-faults'].map((name) => `node/project/${name}.mjs`);
  for (const name of [...starts, 'engine/text/shell-word.mjs', ...files, ...folders])
    cpSync(join(root, 'lib', name), join(project, 'lib', name));
  put('lib/engine/resource/kinds.ts', `export { Shared as role } from '../../shared.ts';\n`);
  put('lib/shared.ts', `export class Shared {}\n`);
  put(
    'lib/commands/playbook/main.ts',
    `import { Shared } from '../../shared.ts';\nexport const word: string = 'one';\nexport const shared = new Shared();\n`,
  );
  put(
    'lib/commands/other/command.ts',
    `export { Shared } from '../../shared.ts';\nexport { default as beside } from 'beside';\n`,
  );
  mkdirSync(join(project, 'node_modules/beside'));
  put(
    'node_modules/beside/index.js',
    `module.exports = require('node:fs').readFileSync(__dirname + '/text', 'utf8');\n`,
  );
  put('node_modules/beside/text', 'beside the package');
  put(
    'roles/role.ts',
    `import { readFileSync } from 'node:fs';\nimport { Shared } from '../lib/shared.ts';\nexport const isShared = (it: unknown) => it instanceof Shared;\nexport const text = readFileSync(new URL('../text', import.meta.url), 'utf8');\n`,
  );
  put('text', 'beside it');
}
const removeProject = () => rmSync(project, { recursive: true });

function put(file: string, text: string): void {
  writeFileSync(join(project, file), text);
}

const script = `
  const { program } = await import(process.argv.at(-1) + '/lib/start/program.mjs');
  const { word, shared } = await program('lib/commands/playbook/main.ts');
  const { isShared, text } = await program('roles/role.ts');
  const { Shared, beside } = await program('lib/commands/other/command.ts');
  console.log([word, isShared(shared), shared instanceof Shared, text, beside].join(', '));`;

type Outcome = { code: unknown; stdout: string; stderr: string };

const environment = () => ({ ...process.env, TMPDIR: join(project, 'temporary') });

/** Runs the project in a process of its own. */
function runProcess(as: { uid?: number; gid?: number } = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      'node',
      ['--input-type=module', '-e', script, pathToFileURL(project).href],
      { env: environment(), ...as },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout: stdout.trim(), stderr }),
    );
  });
}

/**
 * Runs the project in a thread of its own, with its own modules: it starts several times as fast
 * as a process.
 */
async function run(text = script): Promise<Outcome> {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(text)}`), {
    argv: [pathToFileURL(project).href],
    execArgv: [],
    env: environment(),
    stdout: true,
    stderr: true,
  });
  const [stdout, stderr, [code]] = await Promise.all([
    readText(worker.stdout),
    readText(worker.stderr),
    once(worker, 'exit'),
  ]);
  return { code, stdout: stdout.trim(), stderr };
}

const good = { code: 0, stdout: 'one, true, true, beside it, beside the package', stderr: '' };

const only = () => join(cache, readdirSync(cache)[0] ?? '');

describe('a project that was not run before', () => {
  beforeEach(makeProject);
  afterEach(removeProject);

  test('modules share their imports, find files beside them, and are compiled once', async () => {
    expect(await runProcess()).toEqual(good);
    const [folder = ''] = readdirSync(cache);
    const { mtimeMs } = statSync(join(cache, folder));
    expect(await run()).toEqual(good);
    expect(readdirSync(cache)).toEqual([folder]);
    expect(statSync(join(cache, folder)).mtimeMs).toBe(mtimeMs);
  });

  test("a long first run keeps as much of V8's code as a short one", async () => {
    const code = () => join(only(), `program.cjs.${process.version}.v8`);
    await runProcess();
    const { size } = statSync(code());
    rmSync(code());
    // V8 throws code away that was not run for some collections of garbage; here at each one.
    const collects = `process.prependListener('exit', () => gc());${script}`;
    const flags = ['--expose-gc', '--stress-flush-code', '--input-type=module'];
    await promisify(execFile)('node', [...flags, '-e', collects, pathToFileURL(project).href]);
    expect(statSync(code()).size).toBeGreaterThan(size * 0.9);
  });

  test('packages with precompiled parts are complete', async () => {
    put(
      'lib/commands/playbook/main.ts',
      `export { NodeSSH } from 'node-ssh';\nexport { default as ssh2 } from 'ssh2';\n`,
    );
    const asked = `
      const { NodeSSH, ssh2 } = await (await import(process.argv.at(-1) + '/lib/start/program.mjs')).program('lib/commands/playbook/main.ts');
      console.log(typeof NodeSSH, typeof ssh2.Client, typeof ssh2.utils.generateKeyPairSync('ed25519').private);`;
    expect(await run(asked)).toEqual({ code: 0, stdout: 'function function string', stderr: '' });
  });

  test('a changed source is compiled again, even with the same size and time', async () => {
    const file = join(project, 'lib/commands/playbook/main.ts');
    await run();
    const { atime, mtime, size } = statSync(file);
    cpSync(file, join(project, 'before'));
    put(
      'lib/commands/playbook/main.ts',
      `${'export const word = "two"; export const shared = 1;'.padEnd(size - 1)}\n`,
    );
    utimesSync(file, atime, mtime);
    expect(statSync(file)).toMatchObject({ size, mtime });
    expect((await run()).stdout).toBe('two, false, false, beside it, beside the package');
  });

  test('a changed JavaScript source is compiled again', async () => {
    put('lib/plain.mjs', 'export const plain = 1;\n');
    put(
      'lib/commands/playbook/main.ts',
      `import { plain } from '../../plain.mjs';\nexport const word = plain;\n`,
    );
    await run();
    put('lib/plain.mjs', 'export const plain = 2;\n');
    expect((await run()).stdout).toMatch(/^2,/);
  });

  test('several simultaneous starts all run, and leave one result', async () => {
    expect(await Promise.all([runProcess(), runProcess(), runProcess(), runProcess()])).toEqual([
      good,
      good,
      good,
      good,
    ]);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  test('if packages cannot be written to, it still runs and leaves nothing', async () => {
    put('node_modules/.cache', 'no folder');
    expect(await run()).toEqual(good);
    expect(readdirSync(join(project, 'temporary'))).toEqual([]);
  });

  test('a directory that no run can still be using is removed', async () => {
    mkdirSync(join(cache, 'of-old'), { recursive: true });
    mkdirSync(join(cache, 'of-yesterday'));
    const days = (count: number) => Date.now() / 1000 - count * 24 * 3600;
    utimesSync(join(cache, 'of-old'), days(8), days(8));
    utimesSync(join(cache, 'of-yesterday'), days(1), days(1));
    await run();
    expect(readdirSync(cache)).toContain('of-yesterday');
    expect(readdirSync(cache)).not.toContain('of-old');
  });

  test('a file that an editor or macOS leaves beside roles is not a role', async () => {
    symlinkSync('nobody@nowhere.1', join(project, 'roles/.#role.ts'));
    put('roles/._role.ts', '\0');
    mkdirSync(join(project, 'roles/folder.ts'));
    symlinkSync('nowhere', join(project, 'roles/gone.ts'));
    expect(await run()).toEqual(good);
  });

  test.each([
    [
      'export const role = 1;',
      "roles/role.ts: its default export is not a role; it should be: role('role', …)\n",
    ],
    ['export default 1;', "roles/role.ts: its default export is not a role; it should be: role('role', …)\n"],
    ["throw new Error('not now');", 'the program cannot be loaded: not now\n  --verbose shows where\n'],
    ["import 'nothing';", 'roles/role.ts:1:8: Could not resolve "nothing"\n'],
  ])('a file that exports no role is refused with its place: %s', async (text, stderr) => {
    put('roles/role.ts', text);
    const asked = `await (await import(process.argv.at(-1) + '/lib/start/program.mjs')).role('role')`;
    expect(await run(asked)).toEqual({ code: 3, stdout: '', stderr });
  });

  test('a missing role is refused with the list of roles', async () => {
    const asked = `(await import(process.argv.at(-1) + '/lib/start/program.mjs')).role('nope')`;
    expect(await run(asked)).toEqual({
      code: 3,
      stdout: '',
      stderr: 'there is no role nope (roles/nope.ts); there are: role\n',
    });
  });

  test('a role that cannot be read is refused with its place', async () => {
    put('roles/role.ts', 'export default {\n  name: oh no,\n};\n');
    expect(await run()).toEqual({
      code: 3,
      stdout: '',
      stderr: 'roles/role.ts:2:12: Expected "}" but found "no"\n',
    });
  });

  test.each([
    ['node', ['other.mjs', '--limit', 'a.mjs']],
    ['zx', ['other.mjs', '--limit', 'a.mjs']],
  ])('the command line follows the script, with any file name, run by %s', async (runner, words) => {
    put(
      'other.mjs',
      `import { commandLine } from './lib/start/command-line.mjs';\nconsole.log(JSON.stringify(commandLine));\n`,
    );
    const program = runner === 'zx' ? [join(root, 'node_modules/zx/build/cli.js')] : [];
    const { stdout } = await promisify(execFile)('node', [...program, ...words], { cwd: project });
    expect(JSON.parse(stdout)).toEqual(['--limit', 'a.mjs']);
  });
});

describe('a project that was run before', () => {
  /** What that run left in the cache. */
  let left: string;
  beforeAll(async () => {
    makeProject();
    left = mkdtempSync(join(tmpdir(), 'left-'));
    expect(await run()).toEqual(good);
    cpSync(cache, left, { recursive: true });
  });
  beforeEach(() => {
    rmSync(cache, { recursive: true });
    cpSync(left, cache, { recursive: true });
    chmodSync(cache, 0o755);
  });
  afterAll(() => {
    rmSync(left, { recursive: true });
    removeProject();
  });

  test('code that one user has compiled runs for another', async () => {
    chmodSync(project, 0o755);
    expect(await runProcess({ uid: 65534, gid: 65534 })).toEqual(good);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  test('a directory in use is not removed, however old it is', async () => {
    const longAgo = Date.now() / 1000 - 8 * 24 * 3600;
    utimesSync(only(), longAgo, longAgo);
    await run();
    expect(statSync(only()).mtimeMs / 1000).toBeGreaterThan(longAgo + 1);
  });

  test.each<[what: string, spoil: () => void]>([
    ['a file is missing', () => rmSync(join(only(), 'program.cjs'))],
    ['a file is cut off', () => truncateSync(join(only(), 'program.cjs'), 100)],
    ['all of it is missing', () => readdirSync(only()).forEach((name) => void rmSync(join(only(), name)))],
    [
      'it is no folder',
      () => {
        const folder = only();
        rmSync(folder, { recursive: true });
        writeFileSync(folder, '');
      },
    ],
  ])('incomplete compiled code is compiled again: %s', async (_, spoil) => {
    spoil();
    expect(await run()).toEqual(good);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  test("V8's code is kept once, and written again where it is damaged", async () => {
    const code = () => readdirSync(only()).filter((name) => name.endsWith('.v8'));
    expect(code()).toEqual([`program.cjs.${process.version}.v8`]);
    const file = join(only(), code()[0] ?? '');
    const whole = readFileSync(file);
    const { ino } = statSync(file);
    expect(await run()).toEqual(good);
    expect(statSync(file).ino).toBe(ino);
    const flipped = Buffer.from(whole);
    flipped.fill(0xff, whole.length / 2, whole.length / 2 + 64);
    const cut = whole.subarray(0, whole.length / 2);
    for (const damaged of [Buffer.alloc(0), Buffer.alloc(whole.length), cut, flipped]) {
      writeFileSync(file, damaged);
      expect(await run()).toEqual(good);
      expect(readFileSync(file).equals(damaged)).toBe(false);
      expect(code()).toHaveLength(1);
    }
  });

  test.each<[what: string, give: () => void]>([
    ['is of another user', () => chownSync(only(), 65534, 65534)],
    ['lies where anybody may write', () => chmodSync(cache, 0o777)],
  ])('code in a directory that %s is not run', async (_, give) => {
    const code = join(only(), 'program.cjs');
    // Of the same size, so that it is complete.
    writeFileSync(code, 'console.log("mine");'.padEnd(statSync(code).size));
    give();
    expect(await run()).toEqual(good);
    expect(readdirSync(join(project, 'temporary'))).toEqual([]);
  });

  test('code that only another user may read is compiled again', async () => {
    chmodSync(project, 0o755);
    chmodSync(join(project, 'temporary'), 0o777);
    chmodSync(only(), 0o700);
    expect(await runProcess({ uid: 65534, gid: 65534 })).toEqual(good);
    expect(readdirSync(join(project, 'temporary'))).toEqual([]);
  });
});
