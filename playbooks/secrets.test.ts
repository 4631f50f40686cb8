import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { sshKey } from '../lib/engine/secret/testing/keys.ts';

const project = fileURLToPath(new URL('..', import.meta.url));
const zx = join(project, 'node_modules/.bin/zx');
const passphrase = 'five random words in a row';
const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const has = (program: string) => spawnSync(program, ['--version']).status === 0;
/** Debian's package age: without it, tests that need it are left out. */
const age = has('age');

let folder: string;
let inventory: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  inventory = join(folder, 'own.yaml');
  writeFileSync(inventory, readFileSync(join(project, 'inventory/mainnet.yaml')));
  // No passphrase: scrypt is slow.
  writeFileSync(join(folder, 'own.secrets.recipients'), sshKey(folder, 'ed25519').public);
});
afterAll(() => rmSync(folder, { recursive: true }));

const words = (line: string) => ['playbooks/secrets.mjs', '--inventory', inventory, ...line.split(' ')];
const surroundings = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  RPC_PLAYBOOKS_IDENTITY: join(folder, 'id_ed25519'),
  ...more,
});

function run(line: string, more: NodeJS.ProcessEnv = {}) {
  const { status, stdout, stderr } = spawnSync(zx, words(line), {
    cwd: project,
    env: surroundings(more),
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

/** An editor that prints its process number, and waits. */
function slowEditor(): { editor: string; place: string } {
  const place = join(folder, `place-${Math.random().toString(36).slice(2)}`);
  const editor = join(folder, 'editor');
  writeFileSync(
    editor,
    `#!/bin/sh\necho "added: canary-hunter2" >>"$1"\ncp "$1" "$1~"\nstat -c '%a %n' "$1" "$(dirname "$1")" >${place}.new\nmv ${place}.new ${place}\nexec sleep 30\n`,
    { mode: 0o755 },
  );
  return { editor, place };
}

async function untilThere(path: string): Promise<void> {
  for (let tries = 200; !existsSync(path) && tries > 0; tries--)
    await new Promise((resolve) => setTimeout(resolve, 50));
}

test('the whole workflow: generate, show, edit, rotate', () => {
  expect(run('generate')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('made prover_db_password'),
    stderr: '',
  });
  expect(run('edit', { EDITOR: 'sh -c \'echo "sudo: a b" >>"$1"\' edit' })).toMatchObject({
    status: 0,
    stderr: '',
  });
  expect(run('show sudo --reveal').stdout).toBe('a b\n');
  expect(run('edit', { EDITOR: 'false' })).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('the editor (false) ended with exit code 1: nothing was changed'),
  });
  expect(run('edit', { EDITOR: '/no/such/editor' })).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('exit code 127'),
  });
  expect(run('rotate pool_db_password')).toMatchObject({ status: 0, stderr: '' });
  expect(run('show', { RPC_PLAYBOOKS_IDENTITY: '/none' })).toMatchObject({ status: 3, stdout: '' });
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'the edited plain text is removed after %s',
  async (signal) => {
    const { editor, place } = slowEditor();
    const env = surroundings({ EDITOR: editor });
    const before = run('show --reveal').stdout;
    // A separate process group, to which a terminal sends its signals.
    const child: ChildProcess = spawn(zx, words('edit'), {
      cwd: project,
      env,
      stdio: 'ignore',
      detached: true,
    });
    const ended = once(child, 'close');
    await untilThere(place);
    const [file = '', parent = ''] = readFileSync(place, 'utf8').trim().split('\n');
    expect(file).toMatch(new RegExp(`^600 ${memory}/rpc-playbooks-\\w+/own\\.secrets\\.yaml$`));
    expect(parent).toMatch(/^700 /);
    process.kill(-(child.pid ?? 0), signal);
    expect(await ended).toEqual([130, null]);
    expect(existsSync(parent.slice(4))).toBe(false);
    expect(run('show --reveal').stdout).toBe(before);
  },
);

/** Waits until the terminal of a process's first child shows no more what is typed. */
async function echoEnds(pid: number | undefined): Promise<void> {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ');
  const terminal = readlinkSync(`/proc/${child}/fd/0`);
  const settings = () => spawnSync('stty', ['-F', terminal, '-a'], { encoding: 'utf8' }).stdout;
  await vi.waitFor(() => expect(settings()).toMatch(/ -echo /), 60_000);
}

describe.skipIf(!has('script'))('on a terminal', () => {
  /**
   * Answers the prompts for a passphrase of a program that reads only from its terminal, one after
   * the other.
   */
  const typed = async (command: string, answers: readonly string[]) => {
    const env = surroundings({ RPC_PLAYBOOKS_PASSPHRASE: undefined });
    const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: project, env });
    let stdout = '';
    let given = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk;
      const prompts = stdout.match(/passphrase[^\n]*: /gi) ?? [];
      const answer = answers[given];
      if (answer === undefined || prompts.length <= given) return;
      given += 1;
      // The prompt comes before the end of the echo. What is typed in between would be shown.
      void echoEnds(child.pid).then(() => child.stdin.write(answer));
    });
    const [status] = await once(child, 'close');
    return { status, stdout };
  };

  test('a passphrase is asked for, and not shown; Ctrl-C ends with 130; the age program accepts it', async () => {
    const [plain, out] = [join(folder, 'plain'), join(folder, 'out')];
    const [theirs, secrets] = [join(folder, 'theirs.yaml'), join(folder, 'theirs.secrets.age')];
    writeFileSync(theirs, 'groups: {}\n');
    const show = `${zx} playbooks/secrets.mjs --inventory ${theirs} show --reveal`;
    if (age) {
      writeFileSync(plain, 'sudo: canary-hunter2\n');
      await typed(`age -p -o ${secrets} ${plain}`, [`${passphrase}\n`, `${passphrase}\n`]);
    } else {
      const env = surroundings({
        RPC_PLAYBOOKS_PASSPHRASE: passphrase,
        EDITOR: 'sh -c \'echo "sudo: canary-hunter2" >>"$1"\' edit',
      });
      spawnSync(zx, ['playbooks/secrets.mjs', '--inventory', theirs, 'edit'], { cwd: project, env });
    }
    const shown = await typed(show, [`${passphrase}\r`]);
    expect(shown).toMatchObject({ status: 0, stdout: expect.stringContaining(`passphrase of ${secrets}: `) });
    expect(shown.stdout).toContain('sudo: canary-hunter2');
    expect(shown.stdout).not.toContain('random');
    expect(await typed(show, ['half\x03'])).toMatchObject({
      status: 130,
      stdout: expect.not.stringContaining('half'),
    });

    if (!age) return;
    const env = surroundings({
      RPC_PLAYBOOKS_PASSPHRASE: passphrase,
      EDITOR: 'sh -c \'echo "more: mine" >>"$1"\' edit',
    });
    expect(
      spawnSync(zx, ['playbooks/secrets.mjs', '--inventory', theirs, 'edit'], { cwd: project, env }).status,
    ).toBe(0);
    await typed(`age -d -o ${out} ${secrets}`, [`${passphrase}\n`]);
    expect(readFileSync(out, 'utf8')).toBe('sudo: canary-hunter2\nmore: mine\n');
  }, 120_000);
});
