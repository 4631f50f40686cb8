import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { errorWords } from './error-words.ts';
import { isSaid, testWords } from './test-words.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Fallbacks for cases that the types allow and that do not occur: an error of the file system
 * without a code, one of zod without a message. And text for psql, not for users.
 */
const neverSaid = new Set([
  'unknown error',
  'the host refuses a channel',
  'the master of the connection has ended',
  'it is not as it should be',
  'COPY (\n\n) TO STDOUT;',
  '\\if :ERROR',
  'PGOPTIONS=-c default_transaction_read_only=on -c statement_timeout=',
]);

function textsIn(folders: readonly string[], isWanted: (file: string) => boolean): Map<string, string> {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  return new Map(files.filter(isWanted).map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

const isTest = (file: string) => /\.test\.ts$/.test(file);
const isSource = (file: string) =>
  /\.(ts|mjs)$/.test(file) && !isTest(file) && !/\/testdata\/|\/testing\//.test(file);

test('every error that a user can cause has a test of its message', () => {
  const tests = [...textsIn(['lib', 'roles', 'playbooks', 'test'], isTest)]
    // These texts do not belong to errors.
    .filter(([file]) => file !== 'test/words/words.test.ts')
    .flatMap(([file, text]) => testWords(file, text));
  const words = errorWords(textsIn(['lib', 'roles', 'playbooks'], isSource));
  expect(words.length).toBeGreaterThan(450);
  const untested = words.filter((one) => !neverSaid.has(one.pieces.join('')) && !isSaid(one, tests));
  expect(untested.map(({ file, line, pieces }) => `${file}:${line}: ${pieces.join('…')}`)).toEqual([]);
});

const problem = 'export class Problem extends Error {}\n';
const wordsOf = (texts: Record<string, string>) =>
  errorWords(new Map(Object.entries(texts))).map(({ line, pieces }) => `${line}: ${pieces.join('…')}`);

test('messages are found where an error is made, and where they come from', () => {
  const source = `${problem}
const rule = 'must be a real word';
function fault(x: string) { return x === '' ? 'has no value in it' : undefined }
function refuse(why: string) { return new Problem(\`\${x} \${why}\`, { hint: 'do it again' }) }
throw new Problem(\`the key \${x} \${fault(x)}\`);
throw refuse('is nowhere to be found');
throw new Problem(rule);
throw new TypeError('our own mistake');
answer({ ok: false, error: 'nothing came back' });
throw new Error(answer.error);
`;
  expect(wordsOf({ 'a.ts': source }).toSorted()).toEqual([
    '10: nothing came back',
    '3: must be a real word',
    '4: has no value in it',
    '6: the key … …',
    '7: is nowhere to be found',
  ]);
});

test('messages of other files are found, too', () => {
  const other = `import { Problem as P } from './p.ts';\nexport const broken = (what: string) => new P(what);\n`;
  const user = `import { broken } from '../o.ts';\nthrow broken('it is broken');\n`;
  expect(
    wordsOf({
      'p.ts': problem,
      'o.ts': other.replaceAll(' as P', '').replace('new P(', 'new Problem('),
      'd/u.ts': user,
    }),
  ).toEqual(['2: it is broken']);
});

test.each<[said: string, words: readonly string[], is: boolean]>([
  [`expect(x).toBe('no host or group is called "a"')`, ['no host or group is called "', '"'], true],
  ['expect(x).toMatch(/no host or group is/)', ['no host or group is called "', '"'], true],
  ['expect(x).toMatch(/^h: root was not let in$/)', ['', ' was not let in at ', ''], true],
  ['expect(x).toMatch(/not found/)', ['the host ', ' was not found anywhere'], false],
  [`expect(x).toBe('the host a was not')`, ['the host ', ' was not found anywhere'], false],
  [`test('no host or group is called', () => {})`, ['no host or group is called "', '"'], false],
  [`import x from 'no host or group is called'`, ['no host or group is called "', '"'], false],
  [
    `test.each([['no host or group is called']])('%s', () => {})`,
    ['no host or group is called "', '"'],
    true,
  ],
])('%s says %j: %s', (said, pieces, is) => {
  expect(isSaid({ file: 'lib/a/b.ts', line: 1, pieces }, testWords('lib/c/d.test.ts', said))).toBe(is);
});

test('a few letters count only in a test of the same place', () => {
  const words = { file: 'lib/a/b.ts', line: 1, pieces: ['', ' is empty'] };
  const said = (file: string) => isSaid(words, testWords(file, `expect(x).toBe('f is empty')`));
  expect(['lib/a/c.test.ts', 'test/kinds/b.test.ts', 'playbooks/a.test.ts'].map(said)).toEqual([
    true,
    true,
    true,
  ]);
  expect(said('lib/c/d.test.ts')).toBe(false);
});
