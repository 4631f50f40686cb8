import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseOptions, parseSet, runOptions } from '../../lib/commands/playbook/options.ts';
import { run as reportCommand } from '../../lib/commands/report/command.ts';
import { privateTarget } from '../../lib/engine/file/private-output.ts';
import { selectHosts } from '../../lib/engine/inventory/pattern.ts';
import { thisMachine } from '../../lib/engine/inventory/testing/this-machine.ts';
import { recordName, safeName } from '../../lib/engine/report/record-name.ts';
import { takenOrRefused } from './outcome.ts';
import { seed } from './seed.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostile-options-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(
    '',
    '-',
    '--',
    '---',
    '=',
    '-=',
    '--=',
    '__proto__',
    'constructor',
    '../../x',
    '$(x)',
    '\u001b[2J',
    '\0',
    '\n',
    '--check=x',
    '-i',
    '0',
    '-1',
    '1e9',
    '9'.repeat(30),
    'all',
    '*',
    '!',
    '&',
    ',',
    '[',
    ']',
    'rpc[',
    'rpc[1:',
    'rpc[99999999999]',
    '[z-a]',
    '{{x}}',
    'a=b',
    'a.b.c=[',
    'a=&x [*x]',
    'a=!!x 1',
    '__proto__.x=1',
    'x'.repeat(5000),
  ),
);
const option = fc.constantFrom(...Object.keys(runOptions).map((name) => `--${name}`));
const words = fc.array(
  fc.oneof(
    option,
    text,
    fc.tuple(option, text).map(([name, value]) => `${name}=${value}`),
  ),
  { maxLength: 6 },
);

describe('hostile options', () => {
  test('10,000 command lines of random words: read, or refused in words', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(words, async (args) => {
        await takenOrRefused(() => parseOptions(args, ['docker', 'prover']), args);
      }),
      { numRuns: 10_000, seed },
    );
  });

  test('5,000 host patterns: hosts, or a refusal', { timeout: 120_000 }, async () => {
    const host = (name: string, group: string) => ({
      name,
      groups: [group],
      connection: thisMachine,
      vars: null,
    });
    const hosts = [host('db-1', 'database'), host('rpc-1', 'rpc'), host('a'.repeat(63), 'rpc')];
    const piece = fc.constantFrom(
      '*',
      '?',
      '[',
      ']',
      '!',
      '&',
      ',',
      ':',
      '-',
      '1',
      'a',
      'rpc',
      'db-1',
      'all',
      '\\',
      '(',
      ')',
      '^',
      '$',
      '|',
      '+',
      '{',
      '}',
      '.',
      ' ',
      '\0',
      '😀',
    );
    const pattern = fc.oneof(
      fc.array(piece, { maxLength: 40 }).map((all) => all.join('')),
      text,
      fc
        .array(fc.constantFrom('*a', '*', '?*'), { minLength: 10, maxLength: 400 })
        .map((all) => `${all.join('')}b`),
    );
    await fc.assert(
      fc.asyncProperty(pattern, async (said) => {
        await takenOrRefused(() => selectHosts({ hosts }, said), said);
      }),
      { numRuns: 5000, seed },
    );
  });

  test('--set with a value nested 30,000 levels deep is refused', async () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{a: ', '}'],
      ['- ', ''],
      ['? ', ''],
    ] as const) {
      const said = `a=${open.repeat(30_000)}${close.repeat(30_000)}`;
      expect(await takenOrRefused(() => parseSet(said), said.slice(0, 40))).toBeUndefined();
    }
  });

  test('names of inventories stay inside of the folder of run records, whatever is in them', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          fc.constantFrom('../../etc/cron.d/x', '/etc/passwd', '..', '.', 'a/../../b', 'a\\..\\b', '.ndjson'),
        ),
        (name) => {
          const made = recordName({ time: '20241121T164235Z', inventory: safeName(name), check: false });
          expect(made).toMatch(/^20241121T164235Z-[A-Za-z0-9_-]{1,100}\.ndjson$/);
        },
      ),
      { numRuns: 2000, seed },
    );
  });

  test('--out and --report are put neither in the place of a device nor through a file that is not a folder', async () => {
    for (const name of [
      '/dev/null',
      '/dev/zero',
      '/proc/self/mem',
      '',
      '.',
      '/',
      `${folder}/no/such`,
      `${folder}/a\0b`,
    ]) {
      expect(await takenOrRefused(() => privateTarget(name), name), name).toBeUndefined();
    }
  });

  test('report reads no device, no folder and no file that it did not write', async () => {
    writeFileSync(join(folder, 'garbage.ndjson'), '\0\u001b[2J not JSON\n');
    for (const record of [
      '/dev/zero',
      '/dev/null',
      '/etc/passwd',
      folder,
      '../../../etc/shadow',
      join(folder, 'garbage.ndjson'),
      'a\0b',
    ]) {
      const complained: string[] = [];
      const code = await reportCommand([record], {
        folder,
        say: () => {},
        complain: (line) => complained.push(line),
      });
      expect(code, record).toBe(3);
      expect(complained.join()).not.toContain('\u001b');
    }
    expect(readdirSync(folder)).toEqual(['garbage.ndjson']);
    expect(readFileSync(join(folder, 'garbage.ndjson'), 'utf8')).toContain('not JSON');
  });
});
