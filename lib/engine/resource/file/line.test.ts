import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import type { Step } from '../../host/step.ts';
import { connectLocally, directoryForAll } from '../../host/testing/local-connection.ts';
import { recordedRun } from '../../run/testing/recorded-run.ts';
import { ok, type Resource } from '../resource.ts';
import { textAfter } from '../testing/edited-text.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { applyDrift, type TestHost } from '../testing/test-host.ts';
import { thisMachine } from '../testing/this-machine.ts';
import { jsonFile } from './json-file.ts';
import { line } from './line.ts';
import { noLine } from './no-line.ts';

const host = await thisMachine();
const directory = directoryForAll();
let path: string;
let count = 0;
beforeEach(() => {
  count += 1;
  path = join(directory, `hosts ${count}`);
});

test('it is appended where no line matches', async () => {
  expect(await textAfter(line('/etc/f', 'c'), 'a\nb\n')).toBe('a\nb\nc\n');
  expect(await textAfter(line('/etc/f', 'c'), 'a\nb')).toBe('a\nb\nc\n');
  expect(await textAfter(line('/etc/f', 'c'), '')).toBe('c\n');
  expect(await textAfter(line('/etc/f', 'c', /^c/), 'a\n\n')).toBe('a\n\nc\n');
});

test('it takes the place of the line that matches', async () => {
  expect(await textAfter(line('/etc/f', 'x=3', /^x=/), 'x=1\ny=2\n')).toBe('x=3\ny=2\n');
  expect(await textAfter(line('/etc/f', 'x=3', /^x=/), 'y=2\nx=1')).toBe('y=2\nx=3');
});

test('a line that is there already changes nothing', async () => {
  for (const content of ['a\nx=3\n', 'x=3', 'x=3\nx=3\n']) {
    expect(await textAfter(line('/etc/f', 'x=3'), content)).toBe(content);
    expect(await textAfter(line('/etc/f', 'x=3', /^x=/), content)).toBe(content);
  }
});

test('where several match it is not guessed which one is meant', async () => {
  const wanted = line('/etc/f', 'x=3', /^x=/);
  const several = (text: string) => fakeHost([], { read: async () => Buffer.from(text) });
  const message = '2 lines of /etc/f match /^x=/; it is not clear which one to replace';
  const problem = { message, hint: 'leave one of lines 1, 3' };
  await expect(wanted.check(several('x=1\na\nx=2\n'))).rejects.toMatchObject(problem);
  await expect(applyDrift(several('x=1\na\nx=2\n'), wanted)).rejects.toMatchObject(problem);
  await expect(wanted.check(several('x=3\nx=2\n'))).rejects.toMatchObject({ message });
});

test('of any file the line is in it afterwards, a second time changes nothing, and all other lines stay', async () => {
  const word = fc.stringMatching(/^[ax=#\r\t ]{0,6}$/);
  await fc.assert(
    fc.asyncProperty(fc.array(word), fc.constantFrom('', '\n'), async (lines, end) => {
      const content = `${lines.join('\n')}${end}`;
      const after = await textAfter(line('/etc/f', 'key=1'), content);
      expect(after.split('\n')).toContain('key=1');
      expect(await textAfter(line('/etc/f', 'key=1'), after)).toBe(after);
      expect(after.startsWith(content)).toBe(true);
    }),
  );
});

test('a pattern that does not match the line itself is refused: it would never converge', () => {
  expect(() => line('/f', 'x = 1', /^x=/)).toThrow('does not match the line itself');
  expect(() => line('/f', 'a\nb')).toThrow('more than one line');
});

test('in a real file: mode and owner stay, and the target of a link is changed', async () => {
  const target = `${path}.target`;
  writeFileSync(target, '127.0.0.1 localhost\n10.0.0.1 state-db\n');
  chmodSync(target, 0o640);
  symlinkSync(target, path);
  // A stateful pattern (flag g) must not give alternating results.
  const wanted = line(path, '10.0.0.2 state-db', /\sstate-db$/g);
  for (let look = 0; look < 3; look += 1) expect(await wanted.check(host)).toMatchObject({ is: 'drift' });
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  expect(readFileSync(target, 'utf8')).toBe('127.0.0.1 localhost\n10.0.0.2 state-db\n');
  expect(statSync(target).mode & 0o7777).toBe(0o640);
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
});

test('a missing file is unknown, and is not created', async () => {
  const wanted = line(path, 'x');
  expect(await wanted.check(host)).toEqual({ is: 'unknown', until: `${path} is there` });
  await expect(applyDrift(host, wanted)).rejects.toThrow(`unknown until ${path} is there`);
  expect(existsSync(path)).toBe(false);
});

/** Runs a resource whose change comes after something else. */
const runAfter = async (happens: () => void, resource: Resource) =>
  recordedRun(await connectLocally(), [resource], {
    confirmEach: async () => {
      happens();
      return 'change';
    },
  });

test('a concurrent change between check and change is not lost', async () => {
  writeFileSync(path, 'a\n');
  await runAfter(() => writeFileSync(path, 'a\nb\n'), line(path, 'x'));
  expect(readFileSync(path, 'utf8')).toBe('a\nb\nx\n');
});

test('a file that is removed between check and change is reported', async () => {
  writeFileSync(path, 'a\n');
  const { done } = await runAfter(() => rmSync(path), line(path, 'x'));
  expect(String(done[0]?.error)).toContain(`unknown until ${path} is there`);
});

test('a file that another program changes all the time is left unchanged', async () => {
  writeFileSync(path, 'a\n');
  const wanted = line(path, 'x');
  const restless: Resource = {
    ...wanted,
    async check(reader) {
      const seen = await wanted.check(reader);
      appendFileSync(path, 'b\n');
      return seen;
    },
  };
  for (const confirmEach of [undefined, async () => 'change' as const]) {
    const { done } = await recordedRun(await connectLocally(), [restless], { confirmEach });
    expect(done[0]?.error).toMatchObject({
      message: `${path} was changed by another program at each of 3 tries to change it`,
      hint: 'find the program that writes it all the time, and stop it',
    });
  }
  expect(readFileSync(path, 'utf8')).toMatch(/^a\n(b\n)*$/);
});

test("one line for several hosts changes each host's own text", async () => {
  const other = `${path}.other`;
  writeFileSync(path, 'a\n');
  writeFileSync(other, 'b\n');
  const renamed: TestHost = {
    ...host,
    read: () => host.read(other),
    makeChanges: (changes, options) =>
      host.makeChanges(
        changes.map(({ steps }) => ({ steps: steps.map((step) => ({ ...step, path: other }) as Step) })),
        options,
      ),
  };
  const wanted = line(path, 'x');
  await wanted.check(host);
  await applyDrift(renamed, wanted);
  expect([readFileSync(path, 'utf8'), readFileSync(other, 'utf8')]).toEqual(['a\n', 'b\nx\n']);
});

test('a binary file is left unchanged', async () => {
  const bytes = Buffer.from([0x61, 0xff, 0x0a]);
  writeFileSync(path, bytes);
  await expect(line(path, 'x').check(host)).rejects.toThrow('not UTF-8 text');
  await expect(applyDrift(host, line(path, 'x'))).rejects.toThrow('not UTF-8 text');
  expect(readFileSync(path)).toEqual(bytes);
});

test('what is there and is no file is named, instead of awaited or replaced', async () => {
  const found = [
    ['neither file, directory nor link', () => execFileSync('mkfifo', [path])],
    ['a directory', () => mkdirSync(path)],
  ] as const;
  for (const [kind, make] of found) {
    make();
    for (const wanted of [line(path, 'x'), noLine(path, 'x'), jsonFile(path, { x: 1 })])
      await expect(wanted.check(host)).rejects.toMatchObject({
        message: `${path} is ${kind}, and a file has to be there`,
        hint: `check what this path is used for, then move it: mv '${path}' '${path}.old'`,
      });
    rmSync(path, { recursive: true });
  }
  symlinkSync(`${path}.missing`, path);
  expect(await line(path, 'x').check(host)).toEqual({ is: 'unknown', until: `${path} is there` });
});
