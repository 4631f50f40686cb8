import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { directoryForAll } from '../../host/testing/local-connection.ts';
import { type Difference, describeVerdict, ok, type Resource } from '../resource.ts';
import { applyDrift, type TestHost } from '../testing/test-host.ts';
import { thisMachine } from '../testing/this-machine.ts';
import { secretContent } from './content.ts';
import { file } from './file.ts';

const host: TestHost = await thisMachine();
const directory = directoryForAll();
let path: string;
let count = 0;
beforeAll(() => {
  process.umask(0o022);
});
beforeEach(() => {
  count += 1;
  path = join(directory, `file ${count}`);
});

/** Checks, and returns the differences. */
async function differencesOf(resource: Resource): Promise<readonly Difference[]> {
  const verdict = await resource.check(host);
  return verdict.is === 'drift' ? verdict.differences : [];
}

test('a missing file is shown with its content, and created', async () => {
  const wanted = file(path).content('one\ntwo\n');
  expect(await differencesOf(wanted)).toEqual([
    { what: 'file', was: 'absent', wanted: 'file, 0644 root:root' },
    { what: 'content', was: '', wanted: 'one\ntwo\n' },
  ]);
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
  expect(statSync(path).mode & 0o7777).toBe(0o644);
});

test('different content is shown as a diff, and replaced', async () => {
  writeFileSync(path, 'old\n');
  const wanted = file(path).content('new\n');
  expect(await differencesOf(wanted)).toEqual([{ what: 'content', was: 'old\n', wanted: 'new\n' }]);
  await applyDrift(host, wanted);
  expect(readFileSync(path, 'utf8')).toBe('new\n');
});

test('mode, owner and group are set without writing the file again', async () => {
  writeFileSync(path, 'same');
  chmodSync(path, 0o666);
  const before = statSync(path);
  const wanted = file(path).content('same').mode(0o640).owner(0).group('daemon');
  expect(await differencesOf(wanted)).toEqual([
    { what: 'mode', was: '0666', wanted: '0640' },
    { what: 'group', was: 'root', wanted: 'daemon' },
  ]);
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  const after = statSync(path);
  expect([after.ino, after.mtimeMs, after.mode & 0o7777]).toEqual([before.ino, before.mtimeMs, 0o640]);
});

test('a numeric owner is compared as a number', async () => {
  writeFileSync(path, '');
  const wanted = file(path).owner(70001).group(70002);
  expect(await differencesOf(wanted)).toEqual([
    { what: 'owner', was: '0', wanted: '70001' },
    { what: 'group', was: '0', wanted: '70002' },
  ]);
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  expect(statSync(path).uid).toBe(70001);
});

test('a file with secrets is 0600 by default, and its content is never shown', async () => {
  const content = (password: string, port: number) =>
    secretContent(`Port = ${port}\nPassword = "${password}"\n`, /password/i);
  writeFileSync(path, 'Port = 1\nPassword = "old-secret"\n', { mode: 0o600 });
  const wanted = file(path).content(content('new-secret', 2));
  const shown = JSON.stringify(await differencesOf(wanted));
  expect(shown).toContain('Port = 1');
  expect(shown).not.toMatch(/old-secret|new-secret/);
  await applyDrift(host, wanted);
  expect(statSync(path).mode & 0o7777).toBe(0o600);
  expect(readFileSync(path, 'utf8')).toContain('new-secret');

  const onlySecret = file(path).content(content('third-secret', 2));
  expect(await differencesOf(onlySecret)).toEqual([
    { what: 'secret values in it', was: 'others', wanted: 'the given ones' },
  ]);
  expect(file(path).content(content('x', 1)).mode(0o640).name).toBe(`file ${path}`);
});

test('a file without known secrets is still shown masked, as it may have others', async () => {
  const wanted = file(path).content({
    ...secretContent('Port = 2\nPassword = "b"\n', /password/i),
    holdsSecrets: false,
  });
  expect(await differencesOf(wanted)).toEqual([
    { what: 'file', was: 'absent', wanted: 'file, 0644 root:root' },
    { what: 'content', was: '', wanted: 'Port = 2\nPassword = [secret]\n' },
  ]);
});

test('a secret file with binary content on the host shows neither content nor hash', async () => {
  writeFileSync(path, Buffer.from([0, 1, 2, 3]));
  const [first] = (await differencesOf(file(path).content(secretContent('a = b', /a/)))).filter(
    (d) => d.what === 'content',
  );
  expect(first).toEqual({ what: 'content', was: '4 bytes', wanted: '5 bytes' });
});

test('binary content is shown by size and hash, and written byte for byte', async () => {
  const bytes = Buffer.from(Array.from({ length: 1024 }, (_, at) => at % 256));
  writeFileSync(path, 'text');
  const wanted = file(path).content(bytes);
  const [difference] = await differencesOf(wanted);
  expect(difference?.was).toMatch(/^4 bytes, sha256 982d9e3eb996$/);
  expect(difference?.wanted).toMatch(/^1024 bytes, sha256 [0-9a-f]{12}$/);
  await applyDrift(host, wanted);
  expect(readFileSync(path)).toEqual(bytes);
});

test('a large file is shown by size and hash', async () => {
  writeFileSync(path, 'x\n'.repeat(200_000));
  const [difference] = await differencesOf(file(path).content('small\n'));
  expect(difference?.was).toMatch(/^400000 bytes, sha256/);
});

test('a directory in its place is refused and left unchanged', async () => {
  mkdirSync(path);
  const wanted = file(path).content('x');
  expect(describeVerdict(await wanted.check(host))).toBe('file: a directory -> file, 0644 root:root');
  await expect(applyDrift(host, wanted)).rejects.toMatchObject({
    message: expect.stringMatching(/ is a directory, and a file has to be there$/),
    hint: expect.stringMatching(/^check what this path is used for, then move it: mv '.+' '.+\.old'$/),
  });
  await expect(applyDrift(host, file('/dev/null'))).rejects.toThrow(
    '/dev/null is neither file, directory nor link, and a file has to be there',
  );
  expect(statSync(path).isDirectory()).toBe(true);
});

test('a pipe in its place is refused and left unchanged', async () => {
  execFileSync('mkfifo', [path]);
  await expect(applyDrift(host, file(path).content('x'))).rejects.toThrow(
    'neither file, directory nor link, and a file has',
  );
  expect(statSync(path).isFIFO()).toBe(true);
});

test('a link is replaced, its target is not changed', async () => {
  writeFileSync(`${path}.target`, 'x');
  symlinkSync(`${path}.target`, path);
  const wanted = file(path).content('x');
  expect(await differencesOf(wanted)).toEqual([
    { what: 'file', was: `a link to ${path}.target`, wanted: 'file, 0644 root:root' },
  ]);
  await applyDrift(host, file(path).content('y'));
  expect(readFileSync(path, 'utf8')).toBe('y');
  expect(readFileSync(`${path}.target`, 'utf8')).toBe('x');
});

test('a modifier returns a new value', async () => {
  const plain = file(path);
  plain.content('x').mode(0o600);
  expect(await differencesOf(plain)).toContainEqual({
    what: 'file',
    was: 'absent',
    wanted: 'file, 0644 root:root',
  });
});
