import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { sha256Of } from '../resource/file/content.ts';
import { makeSteps } from '../resource/testing/test-host.ts';
import { thisMachine } from '../resource/testing/this-machine.ts';
import { type Step, write } from './step.ts';
import { standInFor, temporaryDirectory } from './testing/local-connection.ts';

const attributes = { mode: 0o640, owner: 'root', group: 'daemon' };
const rewrite = (path: string, was: string, content: string): Step => ({ do: 'rewrite', path, was, content });

test('a written file has its content, mode and owner, and no temporary file is left', async () => {
  const host = await thisMachine();
  const root = temporaryDirectory();
  const content = Buffer.from([0, 255, 10, 13, 39, 92]);
  await makeSteps(host, write(join(root, "it's new"), content, attributes));
  await makeSteps(host, {
    ...write(join(root, 'secret'), 'a secret text', { ...attributes, mode: 0o4600 }),
    secret: true,
  });
  await makeSteps(host, {
    ...write(join(root, 'secret'), 'another text', { mode: 0o600, owner: '12', group: '34' }),
    secret: true,
  });
  await makeSteps(host, write(join(root, 'empty'), '', attributes));

  expect(readFileSync(join(root, "it's new")).equals(content)).toBe(true);
  const { mode, gid } = statSync(join(root, "it's new"));
  expect([mode & 0o7777, gid]).toEqual([0o640, 1]);
  expect(readFileSync(join(root, 'secret'), 'utf8')).toBe('another text');
  expect(statSync(join(root, 'secret'))).toMatchObject({ uid: 12, gid: 34, mode: 0o100600 });
  expect(readdirSync(root).sort()).toEqual(['empty', "it's new", 'secret']);
});

test('a reader of a file that is being written sees the old or the new content, complete', async () => {
  const host = await thisMachine();
  const path = join(temporaryDirectory(), 'large');
  const texts = ['a', 'b'].map((letter) => letter.repeat(2_000_000));
  const [a = '', b = ''] = texts;
  await makeSteps(host, write(path, a, attributes));
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
    await makeSteps(host, write(path, b, attributes));
    await makeSteps(host, rewrite(path, sha256Of(b), a));
  }
  writing = false;
  await reading;
  expect(torn).toBe(0);
  expect(reads).toBeGreaterThan(20);
});

test('a link is replaced, its target is not changed', async () => {
  const host = await thisMachine();
  const root = temporaryDirectory();
  writeFileSync(join(root, 'target'), 'old');
  symlinkSync('target', join(root, 'link'));
  await makeSteps(host, write(join(root, 'link'), 'new', attributes));
  expect(readFileSync(join(root, 'target'), 'utf8')).toBe('old');
  expect(readFileSync(join(root, 'link'), 'utf8')).toBe('new');
});

test('a directory, a missing parent and an unknown owner are refused, and the old file stays', async () => {
  const host = await thisMachine();
  const root = temporaryDirectory();
  mkdirSync(join(root, 'dir'));
  symlinkSync('dir', join(root, 'linked'));
  writeFileSync(join(root, 'file'), 'old');
  await expect(makeSteps(host, write(join(root, 'dir'), 'x', attributes))).rejects.toThrow(/is a directory/);
  await expect(makeSteps(host, write(join(root, 'linked'), 'x', attributes))).rejects.toThrow(
    /is a directory/,
  );
  const [folder, path] = [join(root, 'no'), join(root, 'no/file')];
  for (const [step, title] of [
    [write(path, 'x', attributes), `write ${path}`],
    [{ do: 'link', path, target: 'x' }, `make link ${path} -> x`],
  ] as const) {
    await expect(makeSteps(host, step)).rejects.toMatchObject({
      message: `command exited with 1: ${title}\nthere is no directory ${folder}`,
      hint: `make it by a task before this one: directory('${folder}')`,
    });
  }
  for (const lacking of ['owner', 'group'] as const) {
    const account = { owner: 'user', group: 'group' }[lacking];
    await expect(
      makeSteps(host, write(join(root, 'file'), 'x', { ...attributes, [lacking]: 'nobody-at-all' })),
    ).rejects.toMatchObject({
      message: expect.stringMatching(`chown: (invalid|unknown) ${account}`),
      hint: `make the ${account} by a task before this one: ${account}()`,
    });
  }
  expect(readFileSync(join(root, 'file'), 'utf8')).toBe('old');
  expect(readdirSync(root).sort()).toEqual(['dir', 'file', 'linked']);
  expect(readdirSync(join(root, 'dir'))).toEqual([]);
});

test('a rewrite keeps mode and owner, follows links, and leaves no temporary file', async () => {
  const host = await thisMachine();
  const root = temporaryDirectory();
  const target = join(root, "it's here");
  await makeSteps(host, write(target, 'old', { mode: 0o4640, owner: '12', group: '34' }));
  symlinkSync("it's here", join(root, 'link'));
  expect(await makeSteps(host, rewrite(join(root, 'link'), sha256Of('old'), 'new'))).toBe(true);
  expect(readFileSync(target, 'utf8')).toBe('new');
  expect(statSync(target)).toMatchObject({ uid: 12, gid: 34, mode: 0o104640 });
  expect(readdirSync(root).sort()).toEqual(["it's here", 'link']);
});

test('a mount point gets its content in place, and no temporary file is left', async () => {
  const host = await thisMachine();
  const root = temporaryDirectory();
  const [path, source] = [join(root, 'hosts'), join(root, 'source')];
  for (const file of [path, source]) writeFileSync(file, 'old', { mode: 0o640 });
  execFileSync('mount', ['--bind', source, path]);
  onTestFinished(() => void execFileSync('umount', [path]));
  expect(await makeSteps(host, rewrite(path, sha256Of('old'), 'new'))).toBe(true);
  expect([readFileSync(source, 'utf8'), statSync(path).mode & 0o7777]).toEqual(['new', 0o640]);
  await expect(makeSteps(host, write(path, 'newer', attributes))).rejects.toThrow('busy');
  expect(readdirSync(root).sort()).toEqual(['hosts', 'source']);
});

test('a rewrite of a file that has changed or was removed changes nothing and reports it', async () => {
  const host = await thisMachine();
  const root = temporaryDirectory();
  const path = join(root, 'file');
  writeFileSync(path, 'changed');
  expect(await makeSteps(host, rewrite(path, sha256Of('old'), 'new'))).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('changed');
  rmSync(path);
  expect(await makeSteps(host, rewrite(path, sha256Of('old'), 'new'))).toBe(false);
  expect(readdirSync(root)).toEqual([]);
});

test('a concurrent change during the transfer is not lost', async () => {
  const path = join(temporaryDirectory(), 'file');
  writeFileSync(path, 'old');
  // All slow steps are done: the content has arrived, and is on the disk.
  standInFor('sync', `[ "$1" = ${join(path, '..')} ] || printf ' and more' >>${path}`);
  const host = await thisMachine();
  expect(await makeSteps(host, rewrite(path, sha256Of('old'), 'new'))).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('old and more');
  expect(readdirSync(join(path, '..'))).toEqual(['file']);
});

test('a rewrite of anything but a file is refused', async () => {
  const host = await thisMachine();
  const root = temporaryDirectory();
  await expect(makeSteps(host, rewrite(root, sha256Of(''), 'new'))).rejects.toThrow(
    `${root} is not a regular file, and is not rewritten`,
  );
  expect(readdirSync(root)).toEqual([]);
});
