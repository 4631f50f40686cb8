import toml from '@iarna/toml';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { describeProblem, Problem, Problems } from '../problem/problem.ts';
import { Secret } from '../secret/secret.ts';
import { anyCharacter } from '../testing/any-character.ts';
import { cpuSeconds } from '../testing/cpu-seconds.ts';
import type { FormatName } from './format.ts';
import { placeOf } from './source.ts';
import { tokenizeSql } from './sql.ts';
import { syntaxProblem } from './syntax.ts';
import { renderTemplate, type Values } from './template.ts';

function refusal(template: string, values: Values, format: FormatName): string {
  try {
    const broken = syntaxProblem(template, { file: 't', format });
    if (broken) throw broken;
    renderTemplate(template, values, { file: 't', format });
  } catch (error) {
    if (error instanceof Problem) return describeProblem(error);
    if (error instanceof Problems) return error.message;
    throw error;
  }
  return 'accepted';
}

const templates: readonly [FormatName, string, (text: string) => unknown][] = [
  [
    'toml',
    '# c\n[a.b]\nx = "{{ x }}" # {{ x }}\nn = {{ n }}\ny = "a-{{ x }}:{{ n }}"\n',
    (text) => {
      const { a } = toml.parse(text) as unknown as { a: { b: { x: string; n: number; y: string } } };
      return a.b;
    },
  ],
  ['json', '{ "x": "{{ x }}", "n": {{ n }}, "y": "a-{{ x }}:{{ n }}" }', (text) => JSON.parse(text)],
  [
    'compose',
    '# c {{ n }}\none: "{{ x }}"\ntwo: {{ n }}\nthree: "a-{{ x }}:{{ n }}"\n',
    (text) => {
      const { one, two, three } = parse(text, { version: '1.1' });
      // Compose itself replaces two dollar signs by one.
      return { x: one.replaceAll('$$', '$'), n: two, y: three.replaceAll('$$', '$') };
    },
  ],
];

/**
 * Text that breaks files: quotes, escapes, comments, line breaks, other planes, half of a
 * surrogate pair.
 */
const nasty = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({
    unit: fc.constantFrom(
      '"',
      "'",
      '\\',
      '$',
      '{',
      '}',
      '#',
      '\n',
      '\r',
      '\t',
      '\0',
      ':',
      ' ',
      '%',
      '=',
      '[',
      ']',
      '\u0085',
      '\u2028',
      '\uFEFF',
      '\uD800',
      '😀',
      '--',
      '*/',
      'a',
    ),
  }),
  fc.constantFrom(
    '\u0024{HOME}',
    '$$',
    '{{ n }}',
    '"""',
    "'''",
    '\\u0000',
    '%41',
    '700000001',
    '\uE0000\uE001',
    'null',
    'yes',
    "'; DROP TABLE x; --",
    '&a',
    '!!str',
    '- ',
  ),
);

describe.each(templates)('%s', (format, template, read) => {
  test('every value is read back unchanged, or refused', () => {
    fc.assert(
      fc.property(nasty, fc.maxSafeInteger(), (x, n) => {
        let text: string;
        try {
          text = renderTemplate(template, { x, n }, { file: 't', format }).text;
        } catch (error) {
          expect(error instanceof Problem || error instanceof Problems).toBe(true);
          // Only these must be refused; a formatter that refuses everything would pass without
          // this.
          expect(/[\0\uE000\uE001]|\p{Surrogate}/u.test(x)).toBe(true);
          return;
        }
        expect(read(text)).toEqual({ x, n, y: `a-${x}:${n}` });
      }),
      { numRuns: 500 },
    );
  });

  test('a value cannot leave its place if the template lacks the quotes', () => {
    const bare = template.replace('"{{ x }}"', '{{ x }}');
    for (const x of ['1\ny = 2', '"a"', 'a # b', '{ "a": 1 }', '[1]', "'a'", '1, "z": 2']) {
      expect(refusal(bare, { x, n: 1 }, format)).toMatch(/does not fit here|is not a valid/);
    }
  });
});

test('a line with a condition is part of the file where the condition is true', () => {
  const template =
    'ports: # {{ if a }}\n  - "{{ n }}" # {{ if a }}\n# A comment. # {{ if a }}\nlist:\n  - "{{ n }}"\t# {{ if b }}\n  - 2\n';
  const rendered = (a: boolean, b: boolean) =>
    renderTemplate(template, { a, b, n: 1 }, { file: 't', format: 'compose' }).text;
  expect(rendered(true, true)).toBe('ports:\n  - "1"\n# A comment.\nlist:\n  - "1"\n  - 2\n');
  expect(rendered(true, false)).toBe('ports:\n  - "1"\n# A comment.\nlist:\n  - 2\n');
  expect(rendered(false, true)).toBe('list:\n  - "1"\n  - 2\n');
});

test('a condition has to be true or false, and nothing else may be; a line that is left out does not move the places', () => {
  const values = { on: true, off: false, x: 'x' };
  expect(refusal('a: 1 # {{ if x }}\n', values, 'compose')).toMatch(
    /^t:1:5: there is no condition x\n\s+a condition is true or false$/,
  );
  expect(refusal('a: 1 # {{ if y }}\n', values, 'compose')).toContain('there is no condition y');
  expect(refusal('a: 1 # {{ if off }}\nb: {{ on }}\n', values, 'compose')).toMatch(
    /^t:2:4: there is no variable on/,
  );
  expect(refusal('a: {{ y }} # {{ if off }}\n', values, 'compose')).toBe('accepted');
});

test('SQL: literals and identifiers keep their values', () => {
  const template = `-- c\nCREATE USER "{{ u }}" WITH PASSWORD '{{ p }}';\n`;
  fc.assert(
    fc.property(nasty, nasty, (u, p) => {
      let text: string;
      try {
        text = renderTemplate(template, { u, p }, { file: 't', format: 'sql' }).text;
      } catch {
        expect(/[\0\uE000\uE001]|\p{Surrogate}/u.test(u + p)).toBe(true);
        return;
      }
      const values = tokenizeSql(text).filter(({ kind }) => kind === 'identifier' || kind === 'literal');
      expect(values).toEqual([
        { kind: 'identifier', value: u },
        { kind: 'literal', value: p },
      ]);
    }),
    { numRuns: 500 },
  );
});

test('SQL: text is accepted between quotes only, and in a psql command only safe text', () => {
  expect(refusal('SELECT {{ x }};', { x: 'a' }, 'sql')).toBe('t:1:8: x must be alone between quotes');
  expect(refusal("SELECT 'a{{ x }}';", { x: 'a' }, 'sql')).toBe('t:1:10: x must be alone between quotes');
  expect(refusal('SELECT {{ x }};', { x: 5 }, 'sql')).toBe('accepted');
  expect(refusal('\\connect "{{ x }}"', { x: 'dbname=a host=b' }, 'sql')).toContain(
    't:1:11: the value of x does not fit in a psql command: only A-Z a-z 0-9 _ . ~ - do',
  );
  expect(refusal('\\connect "{{ x }}"', { x: 'prover_db' }, 'sql')).toBe('accepted');
});

test('unknown, undefined and malformed names are reported with their places, all at once', () => {
  const template = 'a = "{{ user }}"\nb = "{{ usr }}"\n  c = {{ a b }}\nd = "{{"\ne = "{{ toString }}"\n';
  expect(refusal(template, { user: 'u' }, 'toml')).toBe(
    [
      't:2:6: there is no variable usr\n  did you mean user?',
      't:3:7: {{ }} must hold one name\n  a name is letters, digits, . _ and -',
      't:4:6: {{ }} must hold one name\n  a name is letters, digits, . _ and -',
      't:5:6: there is no variable toString\n  known: user',
    ].join('\n'),
  );
  expect(refusal('a = "{{ other }}"', { user: 'u' }, 'toml')).toBe(
    't:1:6: there is no variable other\n  known: user',
  );
  expect(refusal('a = {{ n }}', { n: 1.5 }, 'toml')).toBe('t:1:5: the value of n must be a whole number');
});

test.each<[string, FormatName, string, string]>([
  [
    'an assignment twice',
    'toml',
    'a = = 1',
    ':1:5: this is not a valid toml file\n  unexpected character, expecting',
  ],
  [
    'an open quote',
    'toml',
    'b = "{{ x }}"\na = "info\n',
    ':2:10: this is not a valid toml file\n  unterminated string',
  ],
  [
    'a key twice',
    'toml',
    'b = "{{ x }}"\na = 1\na = 2\n',
    ":3:6: this is not a valid toml file\n  can't redefine existing key",
  ],
  [
    'a bare word',
    'toml',
    'b = "{{ x }}"\na = info\n',
    ':2:8: this is not a valid toml file\n  unexpected character, expected',
  ],
  [
    'no value',
    'toml',
    'b = {{ n }}\na = \n',
    ':2:5: this is not a valid toml file\n  unexpected character, expecting',
  ],
  [
    'a byte order mark',
    'toml',
    '\uFEFFb = "{{ x }}"\n',
    ':1:1: this file begins with a byte order mark\n  save the file as UTF-8 without the mark',
  ],
  [
    'line ends of Windows',
    'toml',
    'b = "{{ x }}" x\r\n',
    ':1:16: lines end with CR LF here\n  save the file with LF alone',
  ],
  [
    'a comma too many',
    'json',
    '{ "a": "{{ x }}", }',
    ':1:19: this is not a valid json file\n  expected double-quoted property name',
  ],
  ['a comma too few', 'json', '{\n "a": "{{ x }}"\n "b": 1 }', ':3:2: this is not a valid json file'],
  [
    'a word',
    'json',
    '{ "a": {{ n }},\n  "b": info }',
    ":2:8: this is not a valid json file\n  unexpected token 'i'",
  ],
  ['an end too soon', 'json', '', ':1:1: this is not a valid json file\n  unexpected end of JSON input'],
  [
    'an open literal',
    'sql',
    "SELECT '{{ x }}', 'a;",
    ':1:19: this is not a valid sql file\n  a quote does not end',
  ],
  [
    'a key twice',
    'compose',
    'a: "{{ x }}"\nb: 1\nb: 2',
    ':3:1: this is not a valid compose file\n  map keys must be unique',
  ],
  [
    'a quote too few',
    'compose',
    'a: "{{ x }}\n',
    ':2:1: this is not a valid compose file\n  missing closing "quote',
  ],
])('a broken template is reported as such, with the place: %s (%s)', (_, format, template, expected) => {
  const said = refusal(template, { x: 'value', n: 12345 }, format);
  expect(said.slice(1)).toContain(expected);
  expect(said).not.toMatch(/value of|12345/);
});

test.each<[string, FormatName, string]>([
  ['a text without quotes', 'toml', 'a = "{{ x }}"\nb = {{ y }}\n'],
  ['a text for a key', 'toml', 'a = "{{ x }}"\nb = {{ n }}\n"{{ x }}" = 1\n   {{ y }} = 1\n'],
  ['a text without quotes', 'json', '{ "a": "{{ x }}",\n "b": {{ y }} }'],
])('%s is reported with its place (%s)', (_, format, template) => {
  const { line, column } = placeOf(template, template.indexOf('{{ y'), 't');
  expect(refusal(template, { x: 'one', y: 'two words', n: 5 }, format)).toBe(
    `t:${line}:${column}: the value of y does not fit here\n  put quotes around the name: "{{ y }}"`,
  );
});

test('a duplicate JSON key is found, which the parser accepts', () => {
  const found = syntaxProblem('{ "a": {{ n }},\n  "b": 1,\n  "a": 2 }', { file: 't', format: 'json' });
  expect(found && describeProblem(found)).toBe(
    't:3:3: this is not a valid json file\n  the file has this key twice',
  );
});

test('2,000 values are inserted without delay', async () => {
  const names = Array.from({ length: 2000 }, (_, i) => `v${i}`);
  const template = names.map((name) => `${name} = "{{ ${name} }}"\n`).join('');
  const values = Object.fromEntries(names.map((name) => [name, name]));
  expect(
    await cpuSeconds(() => renderTemplate(template, values, { file: 't', format: 'toml' })),
  ).toBeLessThan(2);
});

test('content with a secret is masked in every version, and errors do not show it', () => {
  const template = 'User = "{{ user }}"\nPassword = "{{ password }}"\n';
  const content = renderTemplate(
    template,
    { user: 'me', password: new Secret('hunter2') },
    { file: 't', format: 'toml' },
  );
  expect(content.holdsSecrets).toBe(true);
  expect(content.text).toContain('hunter2');
  expect(content.mask(content.text)).toBe('User = "me"\nPassword = [secret]\n');
  expect(content.mask('Password="older"\nURL = "http://a:b@c/"\n')).not.toMatch(/older|a:b/);
  expect(
    renderTemplate(template, { user: 'me', password: 'x' }, { file: 't', format: 'toml' }).holdsSecrets,
  ).toBe(false);
  expect(refusal('a = {{ password }}', { password: new Secret('hunter2 x') }, 'toml')).toBe(
    't:1:5: the value of password does not fit here\n  put quotes around the name: "{{ password }}"',
  );
});

test('of an address a host is shown in every version, and nothing of the rest', () => {
  const template =
    '[Etherman]\nURL = "{{ url }}"\nPort = "1"\n[Log]\nURL = "{{ log }}"\nToken = "{{ token }}"\n';
  new Secret('key-of-today');
  new Secret('token-of-today');
  const values = {
    url: 'https://l1.example/v3/key-of-today',
    log: 'http://log.example',
    token: 'token-of-today',
  };
  const { mask, text } = renderTemplate(template, values, { file: 't', format: 'toml' });
  const shown =
    '[Etherman]\nURL = "https://l1.example/[secret]"\nPort = "1"\n[Log]\nURL = "http://log.example"\nToken = [secret]\n';
  expect(mask(text)).toBe(shown);
  // Nobody knows these any more.
  expect(mask(text.replaceAll('of-today', 'of-old'))).toBe(shown);
  expect(mask('URL = "https://l1.example?key=of-old"\nURI = "wss://l1.example/it\'s/\\"of-old"')).toBe(
    'URL = "https://l1.example/[secret]"\nURI = "wss://l1.example/[secret]"',
  );
  expect(mask('[Etherman]\nURL = "of-old"\n[Log]\nURL = "a name"\nToken = "https://of-old/"\n')).toBe(
    '[Etherman]\nURL = [secret]\n[Log]\nURL = [secret]\nToken = [secret]\n',
  );
});

test('a secret that is a constant of the template is masked too', () => {
  const { holdsSecrets, mask, text } = renderTemplate(
    '{ "databaseURL": "postgresql://u:hunt@er/2@h/d" }',
    {},
    {
      file: 't',
      format: 'json',
    },
  );
  expect(holdsSecrets).toBe(false);
  expect(mask(text)).not.toMatch(/hunt|er\/2/);
});

test.each([
  [
    '"databaseURL": "postgresql://me:hunter2@state-db:5432/db",',
    '"databaseURL": "postgresql://me:[secret]@state-db:5432/db",',
  ],
  [
    '"databaseURL": "postgresql://me:hunter2@[fd00::1]:5432/db"',
    '"databaseURL": "postgresql://me:[secret]@[fd00::1]:5432/db"',
  ],
  ['"databaseURL": "postgresql://me:hun@ter2@host/db",', '"databaseURL": [secret]'],
  ['"databaseURL": "postgresql://me:hun/ter2@host/db",', '"databaseURL": [secret]'],
  ['"databaseURL": "postgresql://me:hunter2@host/db?password=hunter2"', '"databaseURL": [secret]'],
  ['"databaseURL": "postgresql://me:hunter2@host/db?x=hunter2"', '"databaseURL": [secret]'],
  ['"databaseURL": "http://hunter2:x@host/db"', '"databaseURL": [secret]'],
  ['"databaseURL": "host=h user=u secret=hunter2"', '"databaseURL": [secret]'],
  ['"dbPassword": "postgresql://me:hunter2@hunter2/db"', '"dbPassword": [secret]'],
])('%s is shown as %s', (line, expected) => {
  const { mask } = renderTemplate('{}', {}, { file: 't', format: 'json' });
  expect(mask(`{\n  ${line}\n}`)).toBe(`{\n  ${expected}\n}`);
});

test.each([
  ['\uD800', 'is not well-formed text'],
  ['\uE000', 'has a character of the private use area'],
])('a value that no file format can hold is refused: %j', (value, words) => {
  expect(refusal('a = "{{ x }}"', { x: value }, 'toml')).toBe(`t:1:6: the value of x ${words}`);
});

test.each([
  ['SELECT 1; /* all */', 'block comments and dollar quotes are not supported'],
  ["SELECT 'a", 'a quote does not end'],
])('SQL outside the supported syntax is refused: %s', (text, hint) => {
  expect(syntaxProblem(text, { file: 't', format: 'sql' })).toMatchObject({
    message: 'this is not a valid sql file',
    hint,
  });
});
