import { chmod, chown, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { describeProblem, type Problem } from '../problem/problem.ts';
import { Secret } from '../secret/secret.ts';
import { readSecret, type SecretQuestion } from './secret-reference.ts';

let folder = '';
let question: SecretQuestion;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secret-'));
  question = {
    name: 'credentials.state.password',
    where: { file: join(folder, 'a.yaml'), line: 3, column: 5 },
    allowed: { pattern: /^[A-Za-z0-9_.~-]+$/, reason: 'only safe ones' },
    environment: { GOOD: 'abc.DEF~_-1', BAD: 'hunter2/x', EMPTY: '', LINE: 'abc.DEF~_-1\n' },
  };
});

afterAll(() => rm(folder, { recursive: true }));

async function put(name: string, content: string, mode = 0o600): Promise<string> {
  await writeFile(join(folder, name), content);
  await chmod(join(folder, name), mode);
  return `file:${name}`;
}

async function refusal(reference: string): Promise<string> {
  const error: Problem = await readSecret(reference, question).then(
    () => expect.fail('was read'),
    (problem) => problem,
  );
  return describeProblem(error).replaceAll(`${folder}/`, '');
}

test('a secret is read from the environment or a file, without one line break at its end', async () => {
  for (const reference of ['env:GOOD', 'env:LINE'])
    expect((await readSecret(reference, question)).reveal()).toBe('abc.DEF~_-1');
  for (const content of ['good-1', 'good-1\n', 'good-1\r\n']) {
    expect((await readSecret(await put('good', content), question)).reveal()).toBe('good-1');
  }
  expect((await readSecret(await put('strict', 'good-1', 0o400), question)).reveal()).toBe('good-1');
  expect((await readSecret(`file:${join(folder, 'good')}`, question)).reveal()).toBe('good-1');
});

test('a secret is what a command prints, and a command that fails is refused with its place', async () => {
  await put('vault', 'good-1\n');
  expect((await readSecret('cmd:cat vault', question)).reveal()).toBe('good-1');
  const at = 'a.yaml:3:5: credentials.state.password';
  const hint = 'try the command in a shell: it must print the secret, and nothing else, on standard output';
  expect(await refusal('cmd: echo locked >&2; exit 5')).toBe(
    `${at}: the command echo locked >&2; exit 5 ended with 5: locked\n  ${hint}`,
  );
  expect(await refusal('cmd:true')).toBe(`${at} is empty: the command true holds nothing`);
  expect(await refusal("cmd:printf 'hunter2 x'")).toContain(
    "(from the command printf 'hunter2 x') has a character that is not allowed",
  );
  expect(await refusal('cmd: ')).toContain('must be a reference');
});

test('a missing, empty or world-readable secret is refused with its place', async () => {
  const at = 'a.yaml:3:5: credentials.state.password';
  expect(await refusal('env:NONE')).toBe(
    `${at}: environment variable NONE is not set\n  export NONE before the run`,
  );
  expect(await refusal('env:constructor')).toContain('environment variable constructor is not set');
  expect(await refusal('env:EMPTY')).toBe(`${at} is empty: environment variable EMPTY holds nothing`);
  expect(await refusal('file:none')).toBe(
    `${at}: none does not exist\n  write the secret into it, mode 0600`,
  );
  expect(await refusal(await put('empty', '\n'))).toBe(`${at} is empty: empty holds nothing`);
  expect(await refusal(await put('wide', 'good-1', 0o640))).toBe(
    `${at}: wide has mode 0640; a secret must be 0600 or stricter\n  chmod 600 wide`,
  );
  const foreign = await put('foreign', 'good-1');
  await chown(join(folder, 'foreign'), 1234, 1234);
  vi.stubEnv('RPC_PLAYBOOKS_TRUST', undefined);
  expect(await refusal(foreign)).toBe(
    `${at}: foreign belongs to uid 1234 (mode 0600): what others can write is not used\n  use a copy in a folder ` +
      `that only you can change; or trust the folder and all in it: export RPC_PLAYBOOKS_TRUST=${folder}`,
  );
  vi.unstubAllEnvs();
  await symlink('loop', join(folder, 'loop'));
  expect(await refusal('file:loop')).toBe(`${at}: loop is a symbolic link that leads to itself`);
  await mkdir(join(folder, 'dir'), { mode: 0o700 });
  expect(await refusal('file:dir')).toBe(`${at}: dir is not a file`);
  expect(await refusal(await put('large', 'x'.repeat(5000)))).toBe(
    `${at}: large is 5000 bytes long, too long for a secret`,
  );
  expect(await refusal('hunter2')).toContain('a secret is never in an inventory');
  const anyText = { name: question.name, where: question.where };
  await expect(readSecret(await put('lines', 'hunter2\nhunter2\n'), anyText)).rejects.toThrow(
    /has a character that is not allowed: it is one line of text$/,
  );
});

test('a secret of the encrypted file is looked up by its name, and only such a reference opens the file', async () => {
  let opened = 0;
  const unlock = async (file: string) => {
    opened++;
    expect(file).toBe('a.secrets.age');
    return new Map([
      ['pool_db_password', new Secret('good-1')],
      ['odd', new Secret('hunter2/x')],
    ]);
  };
  const asked = { ...question, secrets: { file: 'a.secrets.age', unlock } };
  await readSecret('env:GOOD', asked);
  await readSecret(await put('good', 'good-1'), asked);
  expect(opened).toBe(0);
  expect((await readSecret('secret:pool_db_password', asked)).reveal()).toBe('good-1');
  expect(opened).toBe(1);
  const refused = async (reference: string) =>
    readSecret(reference, asked).then(
      () => expect.fail('was read'),
      (problem) => describeProblem(problem).replaceAll(`${folder}/`, ''),
    );
  const at = 'a.yaml:3:5: credentials.state.password';
  expect(await refused('secret:pol_db_password')).toBe(
    `${at}: a.secrets.age has no secret called pol_db_password\n  did you mean pool_db_password?`,
  );
  expect(await refused('secret:odd')).toMatch(
    /^a\.yaml:3:5: credentials\.state\.password \(from secret:odd\) has a character/,
  );
  expect(await refused('secret:a/b')).toContain(
    'must be a reference, env:NAME, file:PATH, secret:NAME or cmd:COMMAND',
  );
  expect(await refusal('secret:odd')).toContain('needs a file of secrets, but none is given');
});

test('characters that are not allowed are refused with the reason, and the value is not shown', async () => {
  for (const reference of [
    'env:BAD',
    await put('bad', 'hunter2%41'),
    await put('two', 'hunter2\nhunter2\n'),
  ]) {
    const said = await refusal(reference);
    expect(said).toContain('has a character that is not allowed: only safe ones');
    expect(said).not.toContain('hunter2');
  }
});
