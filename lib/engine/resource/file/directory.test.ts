import { chmodSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { applyDrift, ok } from '../resource.ts';
import { thisMachine } from '../testing/this-machine.ts';
import { directory } from './directory.ts';

const host = await thisMachine();
const base = mkdtempSync(join(tmpdir(), 'directory-test-'));
let path: string;
let count = 0;
beforeEach(() => {
  count += 1;
  path = join(base, `directory ${count}`);
});
afterAll(() => rmSync(base, { recursive: true }));

test('a missing one is created with its parents', async () => {
  const deep = join(path, 'a', 'b');
  const wanted = directory(deep).mode(0o700);
  expect(await wanted.check(host)).toMatchObject({
    is: 'drift',
    differences: [{ what: 'directory', was: 'absent', wanted: 'directory, 0700 root:root' }],
  });
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  expect([statSync(deep).mode & 0o7777, statSync(path).mode & 0o7777]).toEqual([0o700, 0o755]);
});

test('mode, owner and group are set, and its content stays', async () => {
  mkdirSync(path);
  writeFileSync(join(path, 'kept'), '', { mode: 0o604 });
  chmodSync(path, 0o777);
  const wanted = directory(path).mode(0o1750).owner(70001).group('daemon');
  expect(await wanted.check(host)).toMatchObject({
    is: 'drift',
    differences: [
      { what: 'mode', was: '0777', wanted: '1750' },
      { what: 'owner', was: '0', wanted: '70001' },
      { what: 'group', was: 'root', wanted: 'daemon' },
    ],
  });
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  const kept = statSync(join(path, 'kept'));
  expect([kept.uid, kept.mode & 0o7777]).toEqual([0, 0o604]);
});

test('a link to a directory counts as a directory, and stays a link', async () => {
  mkdirSync(`${path}.target`, { mode: 0o755 });
  symlinkSync(`${path}.target`, path);
  expect(await directory(path).check(host)).toEqual(ok);
  const wanted = directory(path).mode(0o700);
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  expect(readlinkSync(path)).toBe(`${path}.target`);
});

test.each(['file', 'dangling link'])('a %s in its place is refused and left unchanged', async (what) => {
  if (what === 'file') writeFileSync(path, 'precious');
  else symlinkSync(`${path}.gone`, path);
  const wanted = directory(path);
  expect(await wanted.check(host)).toMatchObject({
    is: 'drift',
    differences: [{ was: what === 'file' ? 'a file' : 'a link' }],
  });
  await expect(applyDrift(host, wanted)).rejects.toThrow('a directory has to be there');
});

test('a folder that is made below one with set-group-ID, or has it, gets exactly the wanted mode', async () => {
  mkdirSync(path);
  chmodSync(path, 0o2755);
  for (const mode of [0o755, 0o2750, 0o700]) {
    const below = directory(join(path, 'below')).mode(mode);
    await applyDrift(host, below);
    expect(await below.check(host)).toEqual(ok);
  }
});
