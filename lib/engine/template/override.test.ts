import toml from '@iarna/toml';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from '../secret/secret.ts';
import { outlineOf } from './leaves.ts';
import { type Override, renderWithOverrides } from './override.ts';
import { textFault } from './template.ts';

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

const inToml = (overrides: readonly Override[]) => renderWithOverrides(tomlTemplate, values, tomlSource, overrides);
const inJson = (overrides: readonly Override[]) => renderWithOverrides(jsonTemplate, values, jsonSource, overrides);

test('the values of a template are found with their kinds, and what comes from elsewhere', () => {
  expect(
    outlineOf(tomlTemplate, tomlSource).leaves.map(({ path, kind, slots }) => [path.join('.'), kind, ...slots]),
  ).toEqual([
    ['Top', 'boolean'],
    ['Log.Level', 'text'],
    ['Log.Outputs', 'list'],
    ['RPC.Port', 'whole number'],
    ['RPC.Timeout', 'duration'],
    ['RPC.WebSockets.Port', 'whole number'],
    ['Gas.Factor', 'number'],
    ['Gas.Password', 'text', 'password'],
  ]);
  expect(
    outlineOf(jsonTemplate, jsonSource).leaves.map(({ path, kind, slots }) => [path.join('.'), kind, ...slots]),
  ).toEqual([
    ['run', 'boolean'],
    ['url', 'text', 'password'],
    ['threads', 'whole number', 'threads'],
    ['path', 'text'],
  ]);
});

test('a template with more than one value a line is told with its place', () => {
  expect(() => outlineOf('a = 1\nlist = [\n  1,\n]\n', tomlSource)).toThrow(
    expect.objectContaining({ where: { file: 'node.toml', line: 2, column: 1 } }),
  );
});

test('values are replaced where they stand and new ones added to their section; comments stay', () => {
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
  const content = inToml(overrides);
  expect(content.text).toBe(`# All of it.
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
  expect(content.holdsSecrets).toBe(true);
  expect(content.mask(content.text)).not.toContain('hunter2');
});

test('a JSON file gets its new keys at its end', () => {
  const content = inJson([
    { path: ['path'], value: 'c "d"' },
    { path: ['run'], value: false },
    { path: ['fresh'], value: 0.25 },
    { path: ['list'], value: ['a'] },
  ]);
  expect(JSON.parse(content.text)).toEqual({
    run: false,
    url: 'hunter2',
    threads: 5,
    path: 'c "d"',
    fresh: 0.25,
    list: ['a'],
  });
});

describe('whatever text an override holds', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('"', "'", '\\', '$', '{', '}', '#', '\n', '\r', '=', '[', ']', '%', '😀', 'a') }),
    fc.constantFrom('{{ password }}', '{{', '"""', '$&', "$'", '\u2028'),
  );
  test('it comes through TOML and JSON as it is, or is refused', () => {
    fc.assert(
      fc.property(text, text, (one, two) => {
        const overrides = [
          { path: ['Log', 'Level'], value: one },
          { path: ['Fresh', 'Key'], value: [two, one] },
        ];
        if ([one, two].some((each) => textFault(each) !== undefined)) {
          expect(() => inToml(overrides)).toThrow();
          return;
        }
        const tree = toml.parse(inToml(overrides).text);
        expect(tree).toMatchObject({ Log: { Level: one }, Fresh: { Key: [two, one] }, Gas: { Password: 'hunter2' } });
        expect(JSON.parse(inJson([{ path: ['path'], value: one }]).text)).toMatchObject({ path: one, url: 'hunter2' });
      }),
      { numRuns: 300 },
    );
  });
  test('and so does every number', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        const value = Object.is(number, -0) ? 0 : number;
        const tree = toml.parse(inToml([{ path: ['Gas', 'Factor'], value }]).text) as { Gas: { Factor: number } };
        expect(tree.Gas.Factor).toBe(value);
      }),
    );
  });
});

test('what does not come through is refused, by its own name', () => {
  const refused = (path: string, overrides: readonly Override[]) =>
    expect(() => inToml([{ path: ['Log', 'Outputs'], value: [] }, ...overrides])).toThrow(
      expect.objectContaining({
        name: 'Problem',
        message: `what the inventory says of ${path} does not come through unharmed here`,
        where: { file: 'node.toml' },
      }),
    );
  // A key of the template may not become a section as well.
  refused('Log.Level.Deep', [{ path: ['Log', 'Level', 'Deep'], value: 1 }]);
  refused('Log.Level', [{ path: ['Log', 'Level'], value: '\0' }]);
  refused('Log.Outputs, A, A.B', [
    { path: ['A'], value: 1 },
    { path: ['A', 'B'], value: 2 },
  ]);
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
  expect(outlineOf(template, tomlSource).leaves).toMatchObject([{ path: ['Log', 'Level'], kind }]);
  const { text } = renderWithOverrides(template, {}, tomlSource, [{ path: ['Log', 'Level'], value: 'x' }]);
  expect(text).toBe(` [ Log ] # c\n${expected}\n[Gas]\n`);
});

test('so may a JSON line', () => {
  const template = '{\n"a" : 1 ,\n  "b":[1, 2]\n}';
  const { text } = renderWithOverrides(template, {}, jsonSource, [{ path: ['a'], value: 7 }]);
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

test('new keys find their place in an empty section, before all sections, and behind a last line without an end', () => {
  const overrides = [
    { path: ['Top'], value: 1 },
    { path: ['Empty', 'A'], value: 2 },
    { path: ['Fresh', 'B'], value: 3 },
    { path: ['Log', 'C'], value: 4 },
  ];
  const { text } = renderWithOverrides('# All.\n[Empty] # yet\n\n[Log]\nLevel = "info"', {}, tomlSource, overrides);
  expect(text).toBe('Top = 1\n\n# All.\n[Empty] # yet\nA = 2\n\n[Log]\nLevel = "info"\nC = 4\n\n[Fresh]\nB = 3\n');
});
