import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import { privateTarget, writePrivateFile } from './private-output.ts';
import { asUser } from './testing/other-users.ts';

test('a private file is created again, also over one that others could read', () => {
  const folder = temporaryDirectory();
  const file = join(folder, 'f');
  writeFileSync(file, 'older', { mode: 0o644 });
  writePrivateFile(file, 'text');
  expect(readFileSync(file, 'utf8')).toBe('text');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['f']);
});

test('only regular files are replaced, and a link is followed', () => {
  const folder = temporaryDirectory();
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  mkdirSync(join(folder, 'folder'));
  symlinkSync('/dev/null', join(folder, 'device'));
  symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'));
  for (const name of ['pipe', 'folder', 'device']) {
    expect(() => writePrivateFile(join(folder, name), 'text')).toThrow('exists and is not a file');
  }
  expect(() => writePrivateFile(join(folder, 'dangling'), 'text')).toThrow(
    'is a link, and its target does not exist',
  );
  expect(lstatSync(pipe).isFIFO()).toBe(true);
  expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true);

  writeFileSync(join(folder, 'real'), 'older');
  symlinkSync('real', join(folder, 'link'));
  writePrivateFile(join(folder, 'link'), 'text');
  expect(readFileSync(join(folder, 'real'), 'utf8')).toBe('text');
  expect(lstatSync(join(folder, 'link')).isSymbolicLink()).toBe(true);
});

test('a path that cannot be written is reported beforehand', () => {
  expect(() => privateTarget('')).toThrow(
    expect.objectContaining({
      message: 'the name of the file to write is empty',
      hint: 'name a file after the option',
    }),
  );
  expect(() => privateTarget('/no/such/folder/f')).toThrow(
    'cannot write /no/such/folder/f (its folder does not exist)',
  );
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'f'), '');
  expect(() => privateTarget(join(folder, 'f/g'))).toThrow('(a part of its path is a file)');
  asUser(65_534, () =>
    expect(() => writePrivateFile('/f', 'text')).toThrow(
      'cannot write /f (no permission to write in its folder)',
    ),
  );
  expect(() => writePrivateFile('/proc/x', 'text')).toThrow('cannot write /proc/x');
  expect(existsSync('/proc/x')).toBe(false);
});

test('only an empty file and one of its kind are replaced where a command writes a known kind', () => {
  const folder = temporaryDirectory();
  const plan = { what: 'a plan', begins: '{ "format": ' };
  const at = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  expect(privateTarget(join(folder, 'new'), plan)).toBe(join(folder, 'new'));
  for (const path of [at('empty', ''), at('older', '{ "format": 1 }')])
    expect(privateTarget(path, plan)).toBe(path);
  for (const path of [at('mainnet.yaml', 'groups:\n'), at('short', '{'), at('umlaut', '{ "formät": ')])
    expect(() => privateTarget(path, plan)).toThrow(`${path} is there and is not a plan: it is not replaced`);
});
