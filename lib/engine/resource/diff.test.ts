import { expect, test } from 'vitest';
import { Secret } from '../secret/secret.ts';
import { cpuSeconds } from '../testing/cpu-seconds.ts';
import { diffLines } from './diff.ts';

const content = (was: string, wanted: string) => diffLines([{ what: 'content', was, wanted }]);

test('short values are side by side', () => {
  expect(
    diffLines([
      { what: 'mode', was: '0644', wanted: '0600' },
      { what: 'owner', was: '', wanted: 'root' },
    ]),
  ).toEqual(['mode: 0644 -> 0600', 'owner: (nothing) -> root']);
});

test('a text is a unified diff with two lines around a change', () => {
  const numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9].join('\n');
  expect(content(`${numbers}\n`, `${numbers.replace('5', 'five')}\n`)).toEqual([
    'content:',
    '@@ -3,5 +3,5 @@',
    ' 3',
    ' 4',
    '-5',
    '+five',
    ' 6',
    ' 7',
  ]);
});

test('a new text is all additions, an emptied one all deletions', () => {
  expect(content('', 'a\nb\n')).toEqual(['content:', '@@ -0,0 +1,2 @@', '+a', '+b']);
  expect(content('a\nb\n', '')).toEqual(['content:', '@@ -1,2 +0,0 @@', '-a', '-b']);
});

test('a last line without its line break is shown as such', () => {
  expect(content('a\nb', 'a\nb\n')).toContain('\\ No newline at end of file');
});

test('a long value is not shown side by side', () => {
  expect(content('a'.repeat(90), 'b')).toEqual(['content:', `-${'a'.repeat(90)}`, '+b']);
});

test('a value that is no file has no end of its last line, and an absent one has no lines', () => {
  expect(content('absent', '-i lo -j RETURN\n-j DROP')).toEqual([
    'content:',
    '@@ -0,0 +1,2 @@',
    '+-i lo -j RETURN',
    '+-j DROP',
  ]);
  expect(content('-i lo -j RETURN\n-j DROP', '-i lo -j RETURN')).toEqual([
    'content:',
    '@@ -1,2 +1,1 @@',
    ' -i lo -j RETURN',
    '--j DROP',
  ]);
});

test('a long diff is cut, with the number of lines left out', () => {
  const lines = content('', 'x\n'.repeat(500));
  expect(lines).toHaveLength(82);
  expect(lines.at(-1)).toBe('… 421 more lines');
  expect(content('', 'y'.repeat(5000)).every((line) => line.length <= 240)).toBe(true);
});

test('control characters are escaped', () => {
  expect(diffLines([{ what: 'x', was: '\u001b[31mred\r', wanted: 'a\tb\u0085' }])).toEqual([
    'x: \\x1b[31mred\\x0d -> a\tb\\x85',
  ]);
});

test('the diff of two long, entirely different texts is quick', async () => {
  const text = (seed: number) =>
    Array.from({ length: 20_000 }, (_, at) => `${(at * seed) % 104_729}\n`).join('');
  const [was, wanted] = [text(7919), text(6101)];
  expect(await cpuSeconds(() => expect(content(was, wanted).length).toBeGreaterThan(0))).toBeLessThan(3);
});

test('equal texts have no diff', () => {
  expect(diffLines([])).toEqual([]);
});

test('a long line is cut', () => {
  const [first = '', line = ''] = diffLines([{ what: 'content', was: 'a', wanted: 'x'.repeat(1000) }]).filter(
    (text) => /^(content|\+)/.test(text),
  );
  expect(first).toBe('content:');
  expect(line).toBe(`+${'x'.repeat(238)}…`);
});

test('a secret is masked before a long line is cut', () => {
  const secret = new Secret('Kd83jq-Pw02mz-Xc71');
  // One character of the line for each place that the cut can have in the secret.
  for (let before = 215; before < 245; before++) {
    const line = `${'x'.repeat(before)}${secret.reveal()}${'y'.repeat(300)}`;
    const [shown = ''] = diffLines([{ what: 'content', was: '', wanted: `${line}\n` }]).slice(-1);
    expect(shown).toMatch(/^\+x+(\[|y|…)/);
    expect(shown).not.toMatch(/Kd8|X/);
    expect(shown).toHaveLength(240);
  }
});
