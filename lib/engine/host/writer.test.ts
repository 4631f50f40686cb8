import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../secret/secret.ts';
import type { Progress } from './host.ts';
import { CommandFailed } from './output.ts';
import { connectLocally, standInFor, temporaryDirectory } from './testing/local-connection.ts';
import { createWriter } from './writer.ts';

const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');
const attributes = { mode: 0o640, owner: 'root', group: 'daemon' };

async function open(signal?: AbortSignal) {
  const reported: Progress[] = [];
  const writer = createWriter(await connectLocally(), 'here', {
    onProgress: (progress) => reported.push(progress),
    signal,
  });
  return { writer, reported };
}

test('a written file has its content, mode and owner, and no temporary file is left', async () => {
  const { writer } = await open();
  const root = temporaryDirectory();
  const content = Buffer.from([0, 255, 10, 13, 39, 92]);
  await writer.write(join(root, "it's new"), content, attributes);
  await writer.write(join(root, 'secret'), new Secret('a secret text'), { ...attributes, mode: 0o4600 });
  await writer.write(join(root, 'secret'), new Secret('another text'), { mode: 0o600, owner: '12', group: '34' });
  await writer.write(join(root, 'empty'), '', attributes);

  expect(readFileSync(join(root, "it's new")).equals(content)).toBe(true);
  const { mode, gid } = statSync(join(root, "it's new"));
  expect([mode & 0o7777, gid]).toEqual([0o640, 1]);
  expect(readFileSync(join(root, 'secret'), 'utf8')).toBe('another text');
  expect(statSync(join(root, 'secret'))).toMatchObject({ uid: 12, gid: 34, mode: 0o100600 });
  expect(readdirSync(root).sort()).toEqual(['empty', "it's new", 'secret']);
});

test('a reader of a file that is being written sees the old or the new content, complete', async () => {
  const { writer } = await open();
  const path = join(temporaryDirectory(), 'large');
  const texts = ['a', 'b'].map((letter) => letter.repeat(2_000_000));
  const [a = '', b = ''] = texts;
  await writer.write(path, a, attributes);
  let reads = 0;
  let torn = 0;
  let writing = true;
  const reading = (async () => {
    for (; writing; reads += 1) {
      if (!texts.includes(readFileSync(path, 'utf8'))) torn += 1;
      await nextTurn();
    }
  })();
  for (let round = 0; round < 4; round += 1) {
    await writer.write(path, b, attributes);
    await writer.rewrite(path, sha256Of(b), a);
  }
  writing = false;
  await reading;
  expect(torn).toBe(0);
  expect(reads).toBeGreaterThan(20);
});

test('a link is replaced, its target is not changed', async () => {
  const { writer } = await open();
  const root = temporaryDirectory();
  writeFileSync(join(root, 'target'), 'old');
  symlinkSync('target', join(root, 'link'));
  await writer.write(join(root, 'link'), 'new', attributes);
  expect(readFileSync(join(root, 'target'), 'utf8')).toBe('old');
  expect(readFileSync(join(root, 'link'), 'utf8')).toBe('new');
});

test('a directory, a missing parent and an unknown owner are refused, and the old file stays', async () => {
  const { writer } = await open();
  const root = temporaryDirectory();
  mkdirSync(join(root, 'dir'));
  symlinkSync('dir', join(root, 'linked'));
  writeFileSync(join(root, 'file'), 'old');
  await expect(writer.write(join(root, 'dir'), 'x', attributes)).rejects.toThrow(/is a directory/);
  await expect(writer.write(join(root, 'linked'), 'x', attributes)).rejects.toThrow(/is a directory/);
  await expect(writer.write(join(root, 'no/file'), 'x', attributes)).rejects.toThrow(/there is no directory/);
  await expect(writer.write(join(root, 'file'), 'x', { ...attributes, owner: 'nobody-at-all' })).rejects.toThrow(
    /(invalid|unknown) user/,
  );
  expect(readFileSync(join(root, 'file'), 'utf8')).toBe('old');
  expect(readdirSync(root).sort()).toEqual(['dir', 'file', 'linked']);
  expect(readdirSync(join(root, 'dir'))).toEqual([]);
});

test('a rewrite keeps mode and owner, follows links, and leaves no temporary file', async () => {
  const { writer } = await open();
  const root = temporaryDirectory();
  const target = join(root, "it's here");
  await writer.write(target, 'old', { mode: 0o4640, owner: '12', group: '34' });
  symlinkSync("it's here", join(root, 'link'));
  expect(await writer.rewrite(join(root, 'link'), sha256Of('old'), 'new')).toBe(true);
  expect(readFileSync(target, 'utf8')).toBe('new');
  expect(statSync(target)).toMatchObject({ uid: 12, gid: 34, mode: 0o104640 });
  expect(readdirSync(root).sort()).toEqual(["it's here", 'link']);
});

test('a mount point gets its content in place, and no temporary file is left', async () => {
  const { writer } = await open();
  const root = temporaryDirectory();
  const [path, source] = [join(root, 'hosts'), join(root, 'source')];
  for (const file of [path, source]) writeFileSync(file, 'old', { mode: 0o640 });
  execFileSync('mount', ['--bind', source, path]);
  onTestFinished(() => void execFileSync('umount', [path]));
  expect(await writer.rewrite(path, sha256Of('old'), 'new')).toBe(true);
  expect([readFileSync(source, 'utf8'), statSync(path).mode & 0o7777]).toEqual(['new', 0o640]);
  await expect(writer.write(path, 'newer', attributes)).rejects.toThrow('busy');
  expect(readdirSync(root).sort()).toEqual(['hosts', 'source']);
});

test('a rewrite of a file that has changed or was removed changes nothing and reports it', async () => {
  const { writer } = await open();
  const root = temporaryDirectory();
  const path = join(root, 'file');
  writeFileSync(path, 'changed');
  expect(await writer.rewrite(path, sha256Of('old'), 'new')).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('changed');
  rmSync(path);
  expect(await writer.rewrite(path, sha256Of('old'), 'new')).toBe(false);
  expect(readdirSync(root)).toEqual([]);
});

test('a concurrent change during the transfer is not lost', async () => {
  const path = join(temporaryDirectory(), 'file');
  writeFileSync(path, 'old');
  // All slow steps are done: the content has arrived, and is on the disk.
  standInFor('sync', `[ "$1" = ${join(path, '..')} ] || printf ' and more' >>${path}`);
  const { writer } = await open();
  expect(await writer.rewrite(path, sha256Of('old'), 'new')).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('old and more');
  expect(readdirSync(join(path, '..'))).toEqual(['file']);
});

test('a rewrite of anything but a file is refused', async () => {
  const { writer } = await open();
  const root = temporaryDirectory();
  await expect(writer.rewrite(root, sha256Of(''), 'new')).rejects.toThrow(
    `${root} is not a regular file, and is not rewritten`,
  );
  expect(readdirSync(root)).toEqual([]);
});

test('a failed command throws, with the command and its output', async () => {
  const { writer } = await open();
  const failed = await writer.run`ls ${'/no such'}; exit 3`.catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(CommandFailed);
  expect((failed as CommandFailed).message).toMatch(/exited with 3: ls '\/no such'; exit 3\nls: .*no such/);
  expect((await writer.run({ allow: [0, 3] })`exit 3`).exitCode).toBe(3);
  await expect(writer.run({ allow: [3] })`true`).rejects.toThrow(/exited with 0/);
});

test('a command that exceeds its time limit throws, even if its exit code is allowed', async () => {
  const { writer } = await open();
  await expect(writer.run({ timeoutSeconds: 1, allow: [0, 124] })`sleep 20`).rejects.toThrow(
    'command took longer than its time limit: sleep 20',
  );
});

test('a secret reaches a command by standard input, and no error shows it', async () => {
  const { writer } = await open();
  const secret = new Secret('hunter2222');
  expect((await writer.run({ stdin: secret })`cat`).stdout).toBe('hunter2222');
  const failed = await writer.run({ stdin: secret })`cat >&2; exit 1`.catch((error: unknown) => error);
  expect((failed as Error).message).toMatch(/\[secret\]/);
  expect((failed as Error).message).not.toMatch(/hunter/);
});

test('progress is reported, and an interrupted sleep ends early without failing', async () => {
  const controller = new AbortController();
  const { writer, reported } = await open(controller.signal);
  writer.progress({ what: 'download', done: 1, total: 2 });
  expect(reported).toEqual([{ what: 'download', done: 1, total: 2 }]);
  setTimeout(() => controller.abort(), 20);
  // Longer than this test may take.
  await writer.sleep(3600);
});

test('what a command gets on standard input is bytes, and no script has it', async () => {
  const real = await connectLocally();
  const scripts: string[] = [];
  const exec: typeof real.exec = (script, options = {}) => {
    scripts.push(script);
    return real.exec(script, options);
  };
  const writer = createWriter({ ...real, exec }, 'here', { onProgress: () => {} });
  const bytes = Buffer.from([0, 255, 10, 13, 39, 92]);
  const { bytes: echoed } = await writer.run({ stdin: bytes })`cat; printf %s ${"it's"}`;
  expect(echoed).toEqual(Buffer.concat([bytes, Buffer.from("it's")]));
  await expect(writer.run({ stdin: 'in' })`cat >&2; exit 3`).rejects.toThrow('exited with 3');
  for (const text of ['the password is hunter3333', 'x'.repeat(50_000)]) {
    expect((await writer.run({ stdin: text })`cat`).stdout).toBe(text);
    const encoded = Buffer.from(text).toString('base64');
    expect(scripts.some((script) => script.includes(text) || script.includes(encoded))).toBe(false);
  }
});

test('of a secret of several lines, the last lines of a failed command show nothing', async () => {
  const lines = Array.from({ length: 12 }, (_, at) => `Lm4nB7vC2xZ9-${at}`);
  const secret = new Secret(lines.join('\n'));
  const { writer } = await open();
  const failure = await writer.run({ stdin: secret })`cat >&2; exit 1`.catch((error: Error) => error.message);
  expect(failure).toContain('exited with 1');
  expect(failure).not.toContain('Lm4nB7');
});
