import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { connectLocally, directoryForAll } from '../../host/testing/local-connection.ts';
import { recordedRun } from '../../run/testing/recorded-run.ts';
import { ok } from '../resource.ts';
import { textAfter } from '../testing/edited-text.ts';
import { applyDrift } from '../testing/test-host.ts';
import { thisMachine } from '../testing/this-machine.ts';
import { type JsonObject, jsonFile } from './json-file.ts';

const host = await thisMachine();
const directory = directoryForAll();
let path: string;
let count = 0;
beforeEach(() => {
  count += 1;
  path = join(directory, `daemon ${count}.json`);
});

/** A file's text after the keys are set in it. */
const textWith = (keys: JsonObject, text: string) => textAfter(jsonFile('/f', keys), text);

test.each<[there: JsonObject, wanted: JsonObject, merged: JsonObject]>([
  [
    { a: 1, b: { c: [1, { x: 1 }], d: 'old' }, e: 'other' },
    { b: { c: [{ x: 1 }, 2], d: 'new' }, f: null },
    { a: 1, b: { c: [1, { x: 1 }, 2], d: 'new' }, e: 'other', f: null },
  ],
  [{ a: 'text' }, { a: { b: 1 } }, { a: { b: 1 } }],
  [{ a: [1] }, { a: 'text' }, { a: 'text' }],
])('objects are merged deeply, arrays united, the rest replaced: %#', async (there, wanted, merged) => {
  expect(JSON.parse(await textWith(wanted, JSON.stringify(there)))).toEqual(merged);
});

test('keys keep their order, new ones come last', async () => {
  expect(Object.keys(JSON.parse(await textWith({ b: 0, z: 3 }, '{"z":1,"a":2}')))).toEqual(['z', 'a', 'b']);
});

test('a key named __proto__ is a key', async () => {
  const text = await textWith({ toString: 'own' }, '{"__proto__": {"x": 1}}');
  expect(JSON.stringify(JSON.parse(text))).toBe('{"__proto__":{"x":1},"toString":"own"}');
  expect(({} as Record<string, unknown>).x).toBeUndefined();
});

test('merging a second time changes nothing', async () => {
  const json = fc
    .dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
    .map((value) => JSON.stringify(value));
  await fc.assert(
    fc.asyncProperty(json, json, async (there, keys) => {
      const wanted = JSON.parse(keys) as JsonObject;
      const once = await textWith(wanted, there);
      expect(await textWith(wanted, once)).toBe(once);
    }),
  );
});

test('a missing file is created', async () => {
  const wanted = jsonFile(path, { 'data-root': '/data/docker' });
  expect(await wanted.check(host)).toMatchObject({
    differences: [{ was: '', wanted: '{\n  "data-root": "/data/docker"\n}\n' }],
  });
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  expect(statSync(path).mode & 0o7777).toBe(0o644);
});

test('a file that is removed between check and change is created', async () => {
  writeFileSync(path, '{"b":1}');
  const wanted = jsonFile(path, { a: 1 });
  await recordedRun(await connectLocally(), [wanted], {
    confirmEach: async () => {
      // The other change is asked about, too.
      rmSync(path, { force: true });
      return 'change';
    },
  });
  expect(readFileSync(path, 'utf8')).toBe('{\n  "a": 1\n}\n');
});

test('other keys keep their places, and the file its mode', async () => {
  writeFileSync(path, '{"log-driver":"json-file","data-root":"/old","insecure-registries":["a:1"]}');
  chmodSync(path, 0o600);
  const wanted = jsonFile(path, { 'data-root': '/data/docker', 'insecure-registries': ['b:2'] });
  expect(wanted.name).toBe(`${path} sets data-root, insecure-registries`);
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
  expect(readFileSync(path, 'utf8')).toBe(`{
  "log-driver": "json-file",
  "data-root": "/data/docker",
  "insecure-registries": [
    "a:1",
    "b:2"
  ]
}
`);
  expect(statSync(path).mode & 0o7777).toBe(0o600);
});

test('another layout of the same values is not drift', async () => {
  writeFileSync(path, '{\t"b":1,\n\n"a" : {"y":1, "x":2}}');
  expect(await jsonFile(path, { a: { x: 2, y: 1 } }).check(host)).toEqual(ok);
});

test('an empty file is an empty object', async () => {
  writeFileSync(path, '\n');
  const wanted = jsonFile(path, { a: 1 });
  await applyDrift(host, wanted);
  expect(await wanted.check(host)).toEqual(ok);
});

test.each([
  ['{"password": "hunter2",\n "a": }', 'is not valid JSON; '],
  ['{"password": "hunter2",\n "a" 7}', 'is not valid JSON (line 2, column 6); '],
  ['["hunter2"]', 'holds JSON, but not an object'],
  ['null', 'holds JSON, but not an object'],
  ['\u0000{}', 'not UTF-8 text'],
])('%j is an error that quotes no content, and is never overwritten', async (content, why) => {
  writeFileSync(path, content);
  const wanted = jsonFile(path, { b: 1 });
  const error = await wanted.check(host).then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  expect(error?.message).toContain(path);
  expect(error?.message).toContain(why);
  expect(error?.message).toContain('the file was not changed');
  expect(error?.message).not.toContain('hunter2');
  await expect(applyDrift(host, wanted)).rejects.toThrow(why);
  expect(readFileSync(path, 'utf8')).toBe(content);
});

test('a number of another key is never changed', async () => {
  const content = '{"default-ulimits":{"memlock":{"Hard":9223372036854775807,"Name":"memlock"}}}';
  writeFileSync(path, content);
  const words = `${path} has a number in line 1 that would lose digits; the file was not changed`;
  const wanted = jsonFile(path, { b: 1 });
  await expect(wanted.check(host)).rejects.toThrow(words);
  await expect(applyDrift(host, wanted)).rejects.toThrow(words);
  expect(readFileSync(path, 'utf8')).toBe(content);
  writeFileSync(path, content.replace('{', '{"b":1,'));
  expect(await wanted.check(host)).toEqual(ok);
});
