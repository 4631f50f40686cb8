import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, parseDocument } from 'yaml';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { filesOf, renderFiles } from '../../lib/node/render/render-files.ts';
import { takenOrRefused } from './outcome.ts';
import { inEveryForm, seed } from './seed.ts';

let folder: string;
let good: string;
let parsed: Document;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hostile-inventory-'));
  await mkdir(join(folder, 'inventory'));
  await mkdir(join(folder, '.lab/secrets'), { recursive: true });
  for (const store of ['state', 'pool', 'prover']) {
    await writeFile(join(folder, `.lab/secrets/${store}_db_password`), `hostile.Pw~${store}\n`, {
      mode: 0o600,
    });
  }
  const zeros = '0'.repeat(64);
  await writeFile(
    join(folder, '.lab/vars.yaml'),
    `network: { genesis: { sha256: '${zeros}' } }\nsnapshot: { state: { sha256: '${zeros}' }, prover: { sha256: '${zeros}' }, date: 2024-05-01 }\n`,
  );
  good = await readFile(new URL('../../inventory/lab.yaml', import.meta.url), 'utf8');
  parsed = parseDocument(good);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Texts with a special meaning in YAML, JavaScript, shells and file systems. */
const nasty = fc.oneof(
  fc.constantFrom<unknown>(
    '',
    ' ',
    '~',
    null,
    true,
    false,
    0,
    -1,
    -0,
    1.5,
    1e308,
    2 ** 53,
    [],
    {},
    [[]],
    [null],
    { a: null },
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '../../../etc/passwd',
    '/etc/passwd',
    '..',
    '.',
    '/',
    '$(touch x)',
    '`touch x`',
    "';x;'",
    '";x;"',
    '\n',
    'a\nb',
    '\r',
    '\0',
    '\u001b[2J',
    '\u202e',
    '\uFEFF',
    '\uD800',
    '{{ x }}',
    '{{ credentials.state.password }}',
    '%s%n',
    '-oProxyCommand=x',
    '--',
    '*',
    '&a',
    '!!js/function x',
    '<FILL: x>',
    '<FILL',
    'env:PATH',
    'env:__proto__',
    'file:/dev/zero',
    'file:../../etc/shadow',
    'secret:x',
    'secret:__proto__',
    'http://',
    'http://[',
    'http://a/%',
    'x'.repeat(70_000),
    '9'.repeat(400),
    '2024-02-30',
    '0000-00-00',
    'NaN',
    'Infinity',
    '0x10',
    '1_000',
    '١٢',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.jsonValue({ maxDepth: 3 }),
);

const keys = fc.constantFrom(
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'all',
  '<<',
  'vars',
  'groups',
  'ssh',
  'rpc',
  'database',
  '+New',
  'RPC',
  '',
  ' ',
  '0',
  '-1',
  '../x',
  'a/b',
  'a b',
  'a\nb',
  '\u001b[31m',
  '*',
  '!rpc',
  'x'.repeat(300),
);

interface Edit {
  readonly at: number;
  readonly how: 'replace' | 'delete' | 'key' | 'add' | 'copy' | 'merge';
  readonly value: unknown;
  readonly key: string;
}

const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat(10_000),
  how: fc.constantFrom('replace', 'replace', 'replace', 'delete', 'key', 'add', 'copy', 'merge'),
  value: nasty,
  key: keys,
});

/** The valid inventory with some of its values, keys or branches changed. */
function changed(edits: readonly Edit[]): string {
  const document = parsed.clone();
  for (const { at, how, value, key } of edits) {
    const pairs: { pair: Pair; of: { items: unknown[] } }[] = [];
    const gather = (node: unknown): void => {
      if (isMap(node)) {
        for (const pair of node.items) {
          pairs.push({ pair: pair as Pair, of: node as unknown as { items: unknown[] } });
          gather(pair.value);
        }
      } else if (isSeq(node)) for (const item of node.items) gather(item);
    };
    gather(document.contents);
    const chosen = pairs[at % Math.max(1, pairs.length)];
    const other = pairs[(at * 7 + 3) % Math.max(1, pairs.length)];
    if (!chosen || !other) continue;
    const { pair, of } = chosen;
    if (how === 'replace') pair.value = document.createNode(value);
    else if (how === 'delete') of.items.splice(of.items.indexOf(pair), 1);
    else if (how === 'key') pair.key = document.createNode(key);
    else if (how === 'add') of.items.push(document.createPair(key, value));
    else if (how === 'copy' && !isAlias(other.pair.value)) {
      pair.value = isScalar(other.pair.value)
        ? document.createNode(other.pair.value.value)
        : document.createNode((other.pair.value as { toJSON?(): unknown } | null)?.toJSON?.() ?? null);
    } else of.items.push(document.createPair('<<', value));
  }
  return document.toString({ lineWidth: 0 });
}

const piece = fc.oneof(
  fc.constantFrom(
    '\n',
    '  ',
    '\t',
    ': ',
    '- ',
    '{',
    '}',
    '[',
    ']',
    '&a ',
    '*a',
    '<<: ',
    '|',
    '>',
    '"',
    "'",
    '#',
    '---\n',
    '? ',
    '!!x ',
    '%',
    '\0',
    '\uFEFF',
    '...\n',
    '&a [*a, *a]',
    '{{',
    '\\',
    '\u2028',
    '\u0085',
    '\r',
  ),
  fc.string({ unit: 'binary', maxLength: 4 }),
);

/** The valid inventory with pieces of its text removed and others inserted. */
const damaged = fc
  .array(fc.tuple(fc.nat(5000), fc.nat(12), piece), { minLength: 1, maxLength: 5 })
  .map((edits) =>
    edits.reduce(
      (all, [at, cut, put]) =>
        all.slice(0, at % (all.length + 1)) + put + all.slice((at % (all.length + 1)) + cut),
      good,
    ),
  );

const documentsTried = inEveryForm ? 10_000 : 250;

describe('hostile inventories', () => {
  test(`${documentsTried.toLocaleString('en')} mutated inventories: no crash, no hang, no name that leaves its folder`, {
    timeout: 240_000,
  }, async () => {
    const documents = fc.oneof(
      { weight: 3, arbitrary: fc.array(edit, { minLength: 1, maxLength: 4 }).map(changed) },
      { weight: 1, arbitrary: damaged },
    );
    const file = join(folder, 'inventory/lab.yaml');
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(documents, async (text) => {
        await writeFile(file, text);
        const inventory = await takenOrRefused(() => loadDeployment(file), text);
        if (!inventory) return;
        taken += 1;
        for (const { name, groups } of inventory.hosts) {
          for (const each of [name, ...groups]) expect(each).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*$/);
        }
        // Rendering is the slowest part: one in twenty of the accepted ones.
        if (taken % 20 !== 0) return;
        for (const host of inventory.hosts) await takenOrRefused(() => filesOf(host, inventory.hosts), text);
      }),
      { numRuns: documentsTried, seed },
    );
    // A test that accepts no inventory would prove little of the later steps. One in twenty is
    // accepted.
    expect(taken).toBeGreaterThan(documentsTried / 40);
    expect(process.memoryUsage().heapUsed).toBeLessThan(1.5e9);
  });

  /** Texts of about the maximum size that might be slow for a parser or a check. */
  const large = 256 * 1024 - 100;
  const over = (one: string) => one.repeat(Math.floor(large / one.length));
  const lines = (count: number, line: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => line(i)).join('\n');
  test.each<[string, () => string]>([
    ...[
      '[',
      '{',
      '{a: ',
      '[a, ',
      '- ',
      '? ',
      '&a ',
      '!a ',
      '!!map ',
      '<<: ',
      '"',
      ':',
      '\t',
      '*a\n',
      '|\n',
      '%a\n',
      '---\n',
      'a: ',
      '}',
    ].map((one): [string, () => string] => [`256 KiB of ${JSON.stringify(one)}`, () => over(one)]),
    ['8,000 values left open', () => `vars:\n${lines(8000, (i) => `  k${i}: <FILL>`)}`],
    ['8,000 unknown keys', () => `vars:\n${lines(8000, (i) => `  k${i}: x`)}`],
    [
      '4,000 hosts with 4,000 variables',
      () =>
        `vars:\n${lines(4000, (i) => `  k${i}: x`)}\ngroups:\n rpc:\n${lines(4000, (i) => `  h${i}: {address: a${i}}`)}`,
    ],
    [
      'anchors that multiply',
      () =>
        lines(
          30,
          (i) =>
            `a${i}: &a${i} [${Array.from({ length: 9 }, () => (i === 0 ? 'x' : `*a${i - 1}`)).join(', ')}]`,
        ),
    ],
    ['an address of 256 KiB', () => `vars: { network: { l1_rpc_url: "http://${over('a')} " } }`],
    ['an image name of 256 KiB', () => `vars: { images: { node: "${over('a-')}!" } }`],
  ])('%s: refused within seconds', { timeout: 60_000 }, async (_, text) => {
    const file = join(folder, 'inventory/large.yaml');
    await writeFile(file, text());
    const before = process.memoryUsage().heapUsed;
    expect(await takenOrRefused(() => loadDeployment(file), text().slice(0, 80))).toBeUndefined();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(1e9);
  });

  test('names with ../, a slash, a NUL or a line break are refused: hosts, groups, and the name of the inventory', async () => {
    for (const name of [
      '../x',
      '..',
      '.',
      'a/b',
      '/etc',
      'a\\b',
      'a b',
      '-a',
      'a\nb',
      'a\u0000b',
      '~',
      '$(x)',
      '',
    ]) {
      for (const path of [
        ['groups', 'rpc', name],
        ['groups', name, 'h'],
      ]) {
        const file = await writeChanged((document) =>
          document.setIn(path, document.createNode({ address: 'h.example' })),
        );
        expect(await takenOrRefused(() => loadDeployment(file), name), name).toBeUndefined();
      }
    }
    for (const name of [
      '..',
      '.',
      '../../etc/passwd',
      '/etc/passwd',
      'a\u0000b',
      '../inventory',
      '/',
      '',
      '/dev/zero',
      '/proc/self/environ',
    ]) {
      expect(
        await takenOrRefused(() => loadDeployment(name, { folder: join(folder, 'inventory') }), name),
        name,
      ).toBeUndefined();
    }
  });

  test('a group that JavaScript knows is an unknown group', async () => {
    for (const name of ['constructor', 'toString', 'valueOf', 'hasOwnProperty']) {
      const file = await writeChanged((document) =>
        document.setIn(['groups', name, 'h'], document.createNode({ address: 'h.example' })),
      );
      await expect(loadDeployment(file)).rejects.toThrow(`unknown group ${name}`);
    }
  });

  test('rendering writes nowhere but below the folder that was named, through no link but its own', async () => {
    const inventory = await loadDeployment(await writeChanged(() => {}));
    const out = join(folder, 'out');
    const outside = join(folder, 'outside');
    await mkdir(out, { recursive: true });
    await mkdir(outside, { recursive: true });
    const written = await renderFiles(inventory.hosts, inventory.hosts, out);
    for (const path of written) expect(dirname(dirname(path))).toBe(out);
    await rm(out, { recursive: true });
    await mkdir(out);
    await symlink('/dev/null', join(out, 'db-1'));
    await takenOrRefused(() => renderFiles(inventory.hosts, inventory.hosts, out), 'a link for a folder');
    expect(await readdir(outside)).toEqual([]);
  });
});

async function writeChanged(change: (document: Document) => void): Promise<string> {
  const document = parsed.clone() as Document;
  change(document);
  const file = join(folder, 'inventory/changed.yaml');
  await writeFile(file, document.toString({ lineWidth: 0 }));
  return file;
}
