import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeProblem, Problem, Problems } from '../problem/problem.ts';
import { newPassword } from './password.ts';
import { changeSecretValues, parseSecretValues, refuseCommentsBeside } from './secret-values.ts';

const safe = { pattern: /^[A-Za-z0-9_.~-]+$/, reason: 'only safe ones' };

test('any value is read back unchanged, however often others are changed', () => {
  const value = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .filter((text) => !/[\p{Cc}\p{Cs}]/u.test(text));
  const name = fc
    .stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,20}$/)
    .filter((text) => text !== 'previous' && text !== '__proto__');
  fc.assert(
    fc.property(
      fc.dictionary(name, value, { minKeys: 1 }),
      fc.dictionary(name, value),
      (current, previous) => {
        const entries = {
          current: new Map(Object.entries(current)),
          previous: new Map(Object.entries(previous)),
        };
        const text = changeSecretValues('# a comment\n', entries);
        expect(parseSecretValues(text, 'f')).toEqual(entries);
        const again = changeSecretValues(text, {
          current: new Map([['zz', 'z']]),
          previous: new Map(Object.keys(previous).map((key) => [key, undefined])),
        });
        expect(parseSecretValues(again, 'f')).toEqual({
          current: new Map([...entries.current, ['zz', 'z']]),
          previous: new Map(),
        });
        expect(again).toContain('# a comment');
        expect(again).not.toContain('previous:');
      },
    ),
  );
});

test('every value is text as written, and comments and order are kept', () => {
  const text = "# mine\nb: 0123 # the b\na: null\nc: 'x: y'\nd: 1e5\nprevious:\n  b: no\n";
  expect(parseSecretValues(text, 'f')).toEqual({
    current: new Map([
      ['b', '0123'],
      ['a', 'null'],
      ['c', 'x: y'],
      ['d', '1e5'],
    ]),
    previous: new Map([['b', 'no']]),
  });
  expect(changeSecretValues(text, { current: new Map([['a', 'new']]) })).toBe(
    text.replace('a: null', 'a: new'),
  );
  expect(parseSecretValues('', 'f').current.size).toBe(0);
  expect(parseSecretValues('\uFEFF# nothing\n', 'f').current.size).toBe(0);
});

test.each([
  ['a list', '- hunter2\n', 'f:1:1: this must be a mapping, one NAME: VALUE a line'],
  ['a text', 'hunter2\n', 'f:1:1: this must be a mapping, one NAME: VALUE a line'],
  ['no colon', 'a: b\nhunter2\n', 'f:2:1: a quote, a colon, a space or a bracket is missing here'],
  ['a list in it', 'a:\n  - hunter2\n', 'f:2:3: a must be text'],
  ['a mapping in it', 'a: { b: hunter2 }\n', 'f:1:4: a must be text'],
  ['an alias', 'a: &x hunter2\nb: *x\n', 'f:1:7: a starts with &: a value that does needs quotes'],
  ['a tag', 'a: !!hunter2 b\n', 'f:1:4: tags (!…) are not supported'],
  ['no value', 'a:\n', 'f:1:3: a has no value'],
  [
    'several lines',
    'a: |\n  hunter2\n  hunter2\n',
    'f:1:4: a must be one line of text, with no control character in it',
  ],
  ['a name twice', 'a: hunter2\na: hunter2\n', 'f:2:1: this name is in the mapping twice'],
  [
    'an odd name',
    'a b: hunter2\n',
    'f:1:1: a name must start with a letter or digit and hold only letters, digits, _ . -',
  ],
  ['an open quote', 'a: "hunter2\n', 'f:2:1: a quote, a colon, a space or a bracket is missing here'],
  [
    'an odd indent',
    'a: b\n  c: hunter2\n',
    'f:1:4: this value needs quotes, or the next line another indentation',
  ],
  [
    'a colon in a value',
    'a: b: hunter2\n',
    'f:1:4: this value needs quotes, or the next line another indentation',
  ],
  ['a line without a colon', 'b\na: hunter2\n', 'f:1:1: a colon is missing here'],
  ['an odd escape', 'a: "\\q"\n', 'f:1:5: this escape is not known inside double quotes'],
  [
    'another indent',
    'previous:\n  a: hunter2\n b: hunter2\n',
    'f:3:1: the indentation differs from the lines around it',
  ],
  ['what is no YAML', 'a: hunter2\n]\n', 'f:2:1: this is not YAML'],
  ['a tab', 'a:\n\tb: hunter2\n', 'f:2:1: YAML cannot be indented by tabs'],
  ['an odd start', 'a: @hunter2\n', 'f:1:4: a value that starts with this character needs quotes'],
  ['two documents', 'a: b\n---\nb: hunter2\n', 'f:2:1: there may be only one document, without ---'],
  ['an unsafe password', 'a: hunter2/\n', 'f:1:4: a has a character that is not allowed: only safe ones'],
  [
    'an unsafe former password',
    'previous: { a: hunter2/ }\n',
    'f:1:16: previous.a has a character that is not allowed: only safe ones',
  ],
  [
    'previous as text',
    'previous: hunter2\n',
    'f:1:1: previous must be a mapping: it keeps the values from before a rotation',
  ],
])('%s is refused with its place, and no value is shown', (_, text, expected) => {
  try {
    parseSecretValues(text, 'f', (name) => (name === 'a' ? safe : undefined));
    expect.fail('was read');
  } catch (error) {
    const problems =
      error instanceof Problems ? error : error instanceof Problem ? new Problems([error]) : undefined;
    if (!problems) throw error;
    expect(problems.message.split('\n')[0]).toBe(expected);
    expect(problems.message).not.toContain('hunter2');
  }
});

test('passwords are long, safe everywhere, begin with a letter or digit, and differ from each other', () => {
  const made = Array.from({ length: 500 }, newPassword);
  for (const password of made) expect(password).toMatch(/^[A-Za-z0-9][A-Za-z0-9_.~-]{31}$/);
  expect(new Set(made).size).toBe(500);
  expect([...new Set(made.join(''))]).toHaveLength(66);
});

test('invalid YAML reports only its first fault: later ones follow from it', () => {
  expect(() => parseSecretValues('a:\n\tb: hunter2\n\tc: d\n]\n---\n', 'f', () => undefined)).toThrow(
    /^f:2:1: YAML cannot be indented by tabs\n {2}indent with spaces$/,
  );
});

test('a value that YAML would cut is refused with its place: at & always, before # where it is typed', () => {
  const said = (work: () => unknown) => {
    try {
      work();
      return [];
    } catch (error) {
      return (error as Problems).problems.map((problem) => describeProblem(problem));
    }
  };
  expect(said(() => parseSecretValues('a: &b c\n', 'f'))).toEqual([
    'f:1:7: a starts with &: a value that does needs quotes',
  ]);
  const text = "# mine\na: x #y\nb: 'x #y'\nc: x#y\nd: p&q\nprevious:\n  a: z # w\n";
  expect(parseSecretValues(text, 'f').current.get('b')).toBe('x #y');
  const hint = '  put a value with # in quotes, and a comment on a line of its own';
  expect(said(() => refuseCommentsBeside(text, 'f'))).toEqual([
    `f:2:4: a ends before #, where a comment begins\n${hint}`,
    `f:7:6: a ends before #, where a comment begins\n${hint}`,
  ]);
  expect(said(() => refuseCommentsBeside("a: 'x #y'\nb: p&q#r\n# end\n", 'f'))).toEqual([]);
});
