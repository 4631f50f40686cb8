import { chmodSync, mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryForAll } from '../../host/testing/local-connection.ts';
import { ok } from '../resource.ts';
import { applyDrift } from '../testing/test-host.ts';
import { thisMachine } from '../testing/this-machine.ts';
import { directory as ownFolder } from './directory.ts';
import { link } from './link.ts';

const host = await thisMachine();
const directory = directoryForAll();

test('it is made, and takes the place of another link, also of one to a directory', async () => {
  const path = join(directory, 'current');
  for (const target of ['releases/1', 'releases/2']) {
    mkdirSync(join(directory, target), { recursive: true });
    await applyDrift(host, link(path, target));
    expect([readlinkSync(path), await link(path, target).check(host)]).toEqual([target, ok]);
  }
  expect(readdirSync(join(directory, 'releases/1'))).toEqual([]);
});

test('a file or a directory in its place is refused and stays', async () => {
  writeFileSync(join(directory, 'file'), '');
  mkdirSync(join(directory, 'folder'));
  symlinkSync('nowhere', join(directory, 'dangling'));
  expect(await link(join(directory, 'dangling'), 'nowhere').check(host)).toEqual(ok);
  for (const [name, was] of [
    ['file', 'a file'],
    ['folder', 'a directory'],
  ] as const) {
    const path = join(directory, name);
    const error = { message: `${path} is ${was}, and a symbolic link has to be there` };
    await expect(applyDrift(host, link(path, 'x'))).rejects.toMatchObject(error);
  }
});

test('its name may be as long as the file system allows, also where others can change names', async () => {
  const shared = join(directory, 'shared');
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  for (const folder of [directory, shared]) {
    const path = join(folder, 'n'.repeat(255));
    for (const target of ['one', 'two']) {
      await applyDrift(host, link(path, target));
      expect(readlinkSync(path)).toBe(target);
    }
  }
  const made = join(shared, 'd'.repeat(255));
  await applyDrift(host, ownFolder(made));
  expect(await ownFolder(made).check(host)).toEqual(ok);
  expect(readdirSync(shared).length).toBe(2);
});
