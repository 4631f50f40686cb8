import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { sha256Of } from '../resource/file/content.ts';
import { makeSteps } from '../resource/testing/test-host.ts';
import { thisMachine } from '../resource/testing/this-machine.ts';
import { command, makeDirectory, write } from './step.ts';
import { directoryForAll } from './testing/local-connection.ts';

const host = await thisMachine();
const top = directoryForAll();
chmodSync(top, 0o755);
/** No account has them. */
const [user, other] = [64_248, 64_249];
const ofUser = { mode: 0o640, owner: String(user), group: String(other) };
const ofRoot = { mode: 0o600, owner: 'root', group: 'root' };

let place: string;
let home: string;
let secret: string;
beforeEach(() => {
  place = mkdtempSync(join(top, 'place-'));
  chmodSync(place, 0o755);
  home = folder('home', user);
  secret = join(place, 'secret');
  writeFileSync(secret, 'of root\n', { mode: 0o600 });
});

function folder(name: string, owner: number, mode = 0o755, group = owner): string {
  const path = join(place, name);
  mkdirSync(path);
  chownSync(path, owner, group);
  chmodSync(path, mode);
  return path;
}

function ownLink(name: string, target: string): string {
  folder('a', 0);
  symlinkSync(target, join(place, name));
  return join(place, name);
}

function theirLink(path: string, target: string): void {
  symlinkSync(target, path);
  lchownSync(path, user, user);
}

describe('write', () => {
  test.each<[what: string, make: () => string]>([
    ["of another user's", () => home],
    ["of root's below one of another user's", () => folder('home/below', 0)],
    ["of a group's", () => folder('group', 0, 0o775, other)],
    ['of a group, with the set-group-ID bit', () => folder('set-group', 0, 0o2775, other)],
    ['for everybody', () => folder('everybody', 0, 0o777)],
    ['for everybody, where names stay their own', () => folder('sticky', 0, 0o1777)],
    ["behind a link of root's", () => ownLink('link', 'home')],
    ['behind a link with dots', () => `${ownLink('link', './a/../home/.')}/`],
  ])('a folder %s gets files of any owner, and nothing else', async (_, make) => {
    const path = make();
    for (const attributes of [ofUser, ofRoot, ofUser]) {
      await makeSteps(host, write(join(path, "it's"), 'text\n', attributes));
      expect(readFileSync(join(path, "it's"), 'utf8')).toBe('text\n');
      const isOfUser = attributes === ofUser;
      expect(statSync(join(path, "it's"))).toMatchObject({
        uid: isOfUser ? user : 0,
        gid: isOfUser ? other : 0,
        mode: 0o100000 | attributes.mode,
      });
    }
    theirLink(join(path, 'link'), secret);
    await makeSteps(host, write(join(path, 'link'), 'text\n', ofUser));
    expect([readFileSync(secret, 'utf8'), lstatSync(join(path, 'link')).isFile()]).toEqual([
      'of root\n',
      true,
    ]);
    expect(readdirSync(path).filter((name) => name !== 'below')).toEqual(["it's", 'link']);
  });

  test('a link of another user on the way is refused, and so is a missing folder', async () => {
    folder('target', 0);
    theirLink(join(home, 'link'), '../target');
    await expect(makeSteps(host, write(join(home, 'link/name'), 'x', ofRoot))).rejects.toThrow(
      `${home}/link/name is not written: user ${user} can change the names in ${home}, and ${home}/link is not a folder there, but a link, or absent. Put a folder there, or choose a path that only root can change`,
    );
    await expect(makeSteps(host, write(join(home, 'missing/name'), 'x', ofRoot))).rejects.toThrow(
      `${home}/missing is not a folder there`,
    );
    expect([readdirSync(join(place, 'target')), readdirSync(home)]).toEqual([[], ['link']]);
  });

  test('a link of another user in a folder like /tmp is refused, also on the way', async () => {
    const sticky = folder('sticky', 0, 0o1777);
    folder('target', 0);
    theirLink(join(sticky, 'link'), '../target');
    await expect(makeSteps(host, write(join(sticky, 'link/name'), 'x', ofRoot))).rejects.toThrow(
      `user ${user} can change the names in ${sticky}`,
    );
    // A folder of the user there: that one is named, not the folder for everybody.
    const theirs = folder('sticky/theirs', user);
    theirLink(join(theirs, 'link'), '../../target');
    await expect(makeSteps(host, write(join(theirs, 'link/name'), 'x', ofRoot))).rejects.toThrow(
      `user ${user} can change the names in ${theirs}, and ${theirs}/link is not a folder there`,
    );
    mkdirSync(join(sticky, 'of-root'));
    await makeSteps(host, write(join(sticky, 'of-root/name'), 'x', ofRoot));
    expect(readdirSync(join(place, 'target'))).toEqual([]);
  });
});

describe('rewrite', () => {
  const rewrite = (path: string) =>
    makeSteps(host, { do: 'rewrite', path, was: sha256Of('old\n'), content: 'new\n' });
  const file = (mode = 0o640) => {
    writeFileSync(join(home, 'file'), 'old\n');
    chownSync(join(home, 'file'), user, other);
    chmodSync(join(home, 'file'), mode);
    return join(home, 'file');
  };

  test('the owner and the mode of a file stay', async () => {
    expect(await rewrite(file())).toBe(true);
    expect([readFileSync(join(home, 'file'), 'utf8'), readdirSync(home)]).toEqual(['new\n', ['file']]);
    expect(statSync(join(home, 'file'))).toMatchObject({ uid: user, gid: other, mode: 0o100640 });
    symlinkSync('home/file', join(place, 'link'));
    writeFileSync(join(home, 'file'), 'old\n');
    expect(await rewrite(join(place, 'link'))).toBe(true);
    expect(readFileSync(join(home, 'file'), 'utf8')).toBe('new\n');
    expect(await rewrite(join(home, 'file'))).toBe(false);
    expect(await rewrite(join(home, 'missing'))).toBe(false);
    expect(readdirSync(home)).toEqual(['file']);
  });

  test('a link there is refused', async () => {
    writeFileSync(secret, 'old\n');
    theirLink(join(home, 'link'), secret);
    await expect(rewrite(join(home, 'link'))).rejects.toThrow(
      `${home}/link is not written: user ${user} can change the names in ${home}, and it is a link there. Put the file itself there, or name the file that it leads to`,
    );
    await expect(rewrite(home)).rejects.toThrow('is not a regular file, and is not rewritten');
    expect([readFileSync(secret, 'utf8'), readdirSync(home)]).toEqual(['old\n', ['link']]);
  });

  test('a program that runs as its owner is refused', async () => {
    await expect(rewrite(file(0o4755))).rejects.toThrow('it runs as its owner or its group (mode 4755)');
    expect([readFileSync(join(home, 'file'), 'utf8'), readdirSync(home)]).toEqual(['old\n', ['file']]);
  });
});

describe('directory', () => {
  const make = (path: string) => makeSteps(host, makeDirectory(path, { mode: 0o750, owner: String(user) }));

  test('a new one has its attributes, and its parents are of root', async () => {
    await make(join(home, 'a/b/c'));
    const states = ['a', 'a/b', 'a/b/c'].map((name) => statSync(join(home, name)));
    expect(states.map(({ uid, mode }) => [uid, mode & 0o7777])).toEqual([
      [0, 0o755],
      [0, 0o755],
      [user, 0o750],
    ]);
    expect([readdirSync(home), readdirSync(join(home, 'a/b'))]).toEqual([['a'], ['c']]);
    // The user's own home: its name is root's to change.
    await make(home);
    expect(statSync(home)).toMatchObject({ uid: user, gid: 0, mode: 0o40750 });
  });

  test('one of that user gets other attributes; one of somebody else does not, as it may have been put there', async () => {
    folder('home/own', user);
    await make(join(home, 'own'));
    expect(statSync(join(home, 'own')).mode & 0o7777).toBe(0o750);
    for (const [at, owner] of [
      [folder('home/of-root', 0, 0o700), 0],
      [folder('home/other', other, 0o700), other],
      [folder(join(folder('group', 0, 0o775, other).slice(place.length), 'own'), user, 0o700), user],
    ] as const) {
      await expect(make(at)).rejects.toThrow(
        `and ${at} may be a folder that was put there. Look whose it is, then: chown ${user}:root ${at} && chmod 00750 ${at}`,
      );
      expect(statSync(at)).toMatchObject({ uid: owner, mode: 0o40700 });
    }
  });

  test('a link and a file in its place are refused', async () => {
    folder('target', 0, 0o700);
    theirLink(join(home, 'link'), '../target');
    writeFileSync(join(home, 'file'), '');
    for (const name of ['link', 'file'])
      await expect(make(join(home, name))).rejects.toThrow(
        `${home}/${name} is not a folder there, but a link or a file`,
      );
    await expect(make(join(home, 'link/below'))).rejects.toThrow(`${home}/link is not a folder there`);
    expect(statSync(join(place, 'target'))).toMatchObject({ uid: 0, mode: 0o40700 });
    expect([readdirSync(join(place, 'target')), readdirSync(home)]).toEqual([[], ['file', 'link']]);
  });
});

test('a symbolic link takes the place of another, and no folder of root is entered', async () => {
  folder('target', 0);
  theirLink(join(home, 'link'), '../target');
  theirLink(join(home, 'way'), '../target');
  await makeSteps(host, { do: 'link', path: join(home, 'link'), target: 'next' });
  await expect(makeSteps(host, { do: 'link', path: join(home, 'way/link'), target: 'next' })).rejects.toThrow(
    'way is not',
  );
  writeFileSync(join(home, 'file'), '');
  await expect(makeSteps(host, { do: 'link', path: join(home, 'file'), target: 'next' })).rejects.toThrow(
    `${home}/file is no link any more, and is not replaced`,
  );
  expect([readlinkSync(join(home, 'link')), readdirSync(join(place, 'target'))]).toEqual(['next', []]);
  expect(readdirSync(home)).toEqual(['file', 'link', 'way']);
});

test('a command that root may only run in a folder of root is refused elsewhere', async () => {
  const run = (path: string) =>
    makeSteps(host, command({ rootsFolder: path })`echo text > ${join(path, 'name')}`);
  await expect(run(home)).rejects.toThrow(
    `${home} is not used: user ${user} can change the names in ${home}, and root would follow them. Choose a path in a folder that only root can change`,
  );
  await run(folder('of-root', 0));
  expect([readdirSync(home), readdirSync(join(place, 'of-root'))]).toEqual([[], ['name']]);
});
