import toml from '@iarna/toml';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from '../secret/secret.ts';
import { anyCharacter } from '../testing/any-character.ts';
import { isSection, outlineOf, type Section } from './outline.ts';
import { type Override, withOverrides } from './override.ts';
import type { Source } from './source.ts';
import { renderTemplate, textFault } from './template.ts';

const tomlSource = { file: 'node.toml', format: 'toml' } as const;
const tomlTemplate = `# All of it.
Top = false # at the top

[Log]
Level = "info" # debug or info
Outputs = ["stderr"]

[RPC]
Port = 8123
Timeout = "60s"

[RPC.WebSockets]
Port = 8133

[Gas]
Factor = 1.0
Password = "{{ password }}"
`;
const jsonSource = { file: 'prover.json', format: 'json' } as const;
const jsonTemplate = `{
  "run": true,
  "url": "{{ password }}",
  "threads": {{ threads }},
  "path": "a/b"
}
`;
const values = { password: new Secret('hunter2'), threads: 5 };

const rendered = (template: string, source: Source, overrides: readonly Override[]) =>
  withOverrides(renderTemplate(template, values, source).text, source, overrides);
const inToml = (overrides: readonly Override[]) => rendered(tomlTemplate, tomlSource, overrides);
const inJson = (overrides: readonly Override[]) => rendered(jsonTemplate, jsonSource, overrides);

/** `[path, type, ...placeholders]` of each value. */
const leavesOf = ({ keys }: Section, above: readonly string[] = []): string[][] =>
  [...keys].flatMap(([key, entry]) =>
    isSection(entry)
      ? leavesOf(entry, [...above, key])
      : [[[...above, key].join('.'), entry.kind, ...entry.slots]],
  );

test('the values of a template are found with their types and their variables', () => {
  expect(leavesOf(outlineOf(tomlTemplate, tomlSource))).toEqual([
    ['Top', 'boolean'],
    ['Log.Level', 'text'],
    ['Log.Outputs', 'list'],
    ['RPC.Port', 'whole number'],
    ['RPC.Timeout', 'duration'],
    ['RPC.WebSockets.Port', 'whole number'],
    ['Gas.Factor', 'number'],
    ['Gas.Password', 'text', 'password'],
  ]);
  expect(leavesOf(outlineOf(jsonTemplate, jsonSource))).toEqual([
    ['run', 'boolean'],
    ['url', 'text', 'password'],
    ['threads', 'whole number', 'threads'],
    ['path', 'text'],
  ]);
});

test('a value over several lines is reported with its place', () => {
  expect(() => outlineOf('a = 1\nlist = [\n  1,\n]\n', tomlSource)).toThrow(
    expect.objectContaining({ where: { file: 'node.toml', line: 2, column: 1 } }),
  );
});

test('values are replaced in place and new ones added to their section; comments stay', () => {
  const overrides = [
    { path: ['Log', 'Level'], value: 'debug' },
    { path: ['Log', 'Outputs'], value: ['stderr', 'a#b'] },
    { path: ['Top'], value: true },
    { path: ['Also'], value: 1.5 },
    { path: ['RPC', 'WebSockets', 'ReadLimit'], value: 104857600 },
    { path: ['RPC', 'Port'], value: 80 },
    { path: ['Gas', 'Factor'], value: 2 },
    { path: ['NewPart', 'Deep', 'Key'], value: 'x' },
    { path: ['NewPart', 'Deep', 'List'], value: [] },
  ];
  expect(inToml(overrides)).toBe(`# All of it.
Top = true # at the top
Also = 1.5

[Log]
Level = "debug" # debug or info
Outputs = ["stderr", "a#b"]

[RPC]
Port = 80
Timeout = "60s"

[RPC.WebSockets]
Port = 8133
ReadLimit = 104857600

[Gas]
Factor = 2
Password = "hunter2"

[NewPart.Deep]
Key = "x"
List = []
`);
});

test('a JSON file gets new keys at its end', () => {
  const text = inJson([
    { path: ['path'], value: 'c "d"' },
    { path: ['run'], value: false },
    { path: ['fresh'], value: 0.25 },
    { path: ['list'], value: ['a'] },
  ]);
  expect(JSON.parse(text)).toEqual({
    run: false,
    url: 'hunter2',
    threads: 5,
    path: 'c "d"',
    fresh: 0.25,
    list: ['a'],
  });
});

describe('the result is the same tree with the values of the overrides', () => {
  const text = fc
    .oneof(
      fc.string({ unit: anyCharacter }),
      fc.string({
        unit: fc.constantFrom('"', "'", '\\', '$', '{', '}', '#', '\n', '\r', '=', '[', ']', '%', '😀', 'a'),
      }),
      fc.constantFrom('{{ password }}', '{{', '"""', '$&', "$'", '\u2028'),
    )
    .filter((each) => textFault(each) === undefined);
  const number = fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((each) => Number.isSafeInteger(each) || !Number.isInteger(each))
    .map((each) => (each === 0 ? 0 : each));
  const scalar = fc.oneof(text, number, fc.boolean());
  const value = fc.oneof(scalar, fc.array(text), fc.array(number));
  const tree = (all: unknown) => JSON.parse(JSON.stringify(all));

  test('in TOML', () => {
    fc.assert(
      fc.property(value, value, value, value, (level, fresh, deep, top) => {
        const expected = tree(toml.parse(inToml([])));
        expected.Log.Level = level;
        expected.RPC.Fresh = fresh;
        expected.Part = { Deep: { Key: deep } };
        expected.Last = top;
        const result = inToml([
          { path: ['Log', 'Level'], value: level },
          { path: ['RPC', 'Fresh'], value: fresh },
          { path: ['Part', 'Deep', 'Key'], value: deep },
          { path: ['Last'], value: top },
        ]);
        expect(tree(toml.parse(result))).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  test('in JSON', () => {
    fc.assert(
      fc.property(value, value, (path, fresh) => {
        const result = inJson([
          { path: ['path'], value: path },
          { path: ['fresh'], value: fresh },
        ]);
        expect(JSON.parse(result)).toEqual({ ...JSON.parse(inJson([])), path, fresh });
      }),
      { numRuns: 300 },
    );
  });

  test('in a JSON file without keys', () => {
    expect(
      withOverrides('{\n}', jsonSource, [
        { path: ['a'], value: 1 },
        { path: ['b'], value: 'x' },
      ]),
    ).toBe('{\n  "a": 1,\n  "b": "x"\n}\n');
  });
});

test.each([
  ['Level = "info"  ', 'text', 'Level = "x"  '],
  ['Level="info"', 'text', 'Level="x"'],
  ['  Level  =\t"info"# why', 'text', '  Level  =\t"x"# why'],
  ["Level = 'in\"fo' # why", 'text', 'Level = "x" # why'],
  ["Level = '5s'", 'duration', 'Level = "x"'],
  ['Level = 0x1F', 'whole number', 'Level = "x"'],
  ['Level = 1_000', 'whole number', 'Level = "x"'],
  ['Level = 1e3', 'number', 'Level = "x"'],
  ['Level = ["a]b", "c#d"] # why', 'list', 'Level = "x" # why'],
  ['Level = [ "a", ]', 'list', 'Level = "x"'],
])('a TOML line may be written as %s', (line, kind, expected) => {
  const template = ` [ Log ] # c\n${line}\n[Gas]`;
  expect(leavesOf(outlineOf(template, tomlSource))).toEqual([['Log.Level', kind]]);
  const text = rendered(template, tomlSource, [{ path: ['Log', 'Level'], value: 'x' }]);
  expect(text).toBe(` [ Log ] # c\n${expected}\n[Gas]\n`);
});

test('a JSON line may be written in several ways', () => {
  const template = '{\n"a" : 1 ,\n  "b":[1, 2]\n}';
  const text = rendered(template, jsonSource, [{ path: ['a'], value: 7 }]);
  expect(JSON.parse(text)).toEqual({ a: 7, b: [1, 2] });
});

test.each([
  'a = 2024-01-01',
  'a = { b = 1 }',
  'a = [[1]]',
  'a = [1',
  'a.b = 1',
  '"a" = 1',
  'a = """b"""',
  'a = b',
  '[[a]]',
])('%s is not one key with its value', (line) => {
  expect(() => outlineOf(`x = 1\n${line}\n`, tomlSource)).toThrow(
    expect.objectContaining({
      message: 'this line is not one key with its value',
      where: { file: 'node.toml', line: 2, column: 1 },
    }),
  );
});

test('new keys go into an empty section, before all sections, and after a last line without a line break', () => {
  const overrides = [
    { path: ['Top'], value: 1 },
    { path: ['Empty', 'A'], value: 2 },
    { path: ['Fresh', 'B'], value: 3 },
    { path: ['Log', 'C'], value: 4 },
  ];
  const text = rendered('# All.\n[Empty] # yet\n\n[Log]\nLevel = "info"', tomlSource, overrides);
  expect(text).toBe(
    'Top = 1\n\n# All.\n[Empty] # yet\nA = 2\n\n[Log]\nLevel = "info"\nC = 4\n\n[Fresh]\nB = 3\n',
  );
});
