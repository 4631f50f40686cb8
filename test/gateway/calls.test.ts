import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { plainBatch, plainCall, plainMap } from '../../lib/node/gateway/plain-calls.ts';

/**
 * Reads each body of a file, and writes the methods that it found, and whether HAProxy's expressions
 * take it for a plain call, or for a plain batch and which methods it has then. HAProxy's own Lua
 * and regular expressions run.
 */
const reader = (folder: string) => `
  local bodies = io.open("${folder}/bodies", "rb"):read("a")
  local out, at = io.open("${folder}/found", "wb"), 1
  local function write(list)
    out:write(string.pack("<i4", list and #list or -1))
    for _, call in ipairs(list or {}) do out:write(string.pack("<s4", call.method)) end
  end
  while at <= #bodies do
    local body
    body, at = string.unpack("<s4", bodies, at)
    local list = calls.read(body)
    write(list)
    local plain = calls.plain(body)
    out:write(plain and not plain.is_batch and "1" or "0")
    write(plain)
    out:write(string.pack("<s4", plain and plain[1].id or ""))
  end
  out:close()`;

interface Found {
  /** As calls.lua reads them; undefined for a refused body. */
  readonly methods: string[] | undefined;
  readonly isPlainCall: boolean;
  /** Of a plain call or batch. */
  readonly plain: string[] | undefined;
  /** Of a plain call, as JSON. */
  readonly id: string;
}

async function readByGateway(bodies: readonly Buffer[]): Promise<Found[]> {
  const folder = await mkdtemp(join(tmpdir(), 'calls-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const length = (body: Buffer) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(body.length);
    return bytes;
  };
  await writeFile(join(folder, 'bodies'), Buffer.concat(bodies.flatMap((body) => [length(body), body])));
  await writeFile(join(folder, 'reader.lua'), reader(folder));
  await writeFile(join(folder, 'plain-call.map'), plainMap(plainCall));
  await writeFile(join(folder, 'plain-batch.map'), plainMap(plainBatch));
  const calls = fileURLToPath(new URL('../../templates/gateway/calls.lua', import.meta.url));
  await writeFile(join(folder, 'rules.lua'), 'rules = { keys = {}, limits = {}, heavy = {} }');
  const settings = `global\n  default-path config\n  lua-load ${folder}/rules.lua\n  lua-load ${calls}\n  lua-load ${folder}/reader.lua\n
    listen none\n  mode http\n  timeout client 1s\n  timeout server 1s\n  timeout connect 1s\n  bind unix@${folder}/none\n`;
  await writeFile(join(folder, 'haproxy.cfg'), settings);
  await promisify(execFile)('haproxy', ['-c', '-f', join(folder, 'haproxy.cfg')]);
  const found = await readFile(join(folder, 'found'));
  let at = 0;
  const number = () => {
    at += 4;
    return found.readInt32LE(at - 4);
  };
  const text = () => {
    const size = number();
    at += size;
    return found.toString('utf8', at - size, at);
  };
  const list = () => {
    const count = number();
    return count < 0 ? undefined : Array.from({ length: count }, text);
  };
  const flag = () => {
    at += 1;
    return found.toString('latin1', at - 1, at) === '1';
  };
  return bodies.map(() => ({ methods: list(), isPlainCall: flag(), plain: list(), id: text() }));
}

/**
 * Methods of a body, read by JSON.parse as the node's Go reads it: names of fields match in any
 * case. What is not certain is refused.
 */
function readByReference(body: Buffer): string[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    return undefined;
  }
  const methods = (Array.isArray(value) ? value : [value]).map((call: unknown) => {
    if (typeof call !== 'object' || call === null || Array.isArray(call)) return undefined;
    const found = Object.entries(call).filter(([key]) => key.toLowerCase() === 'method');
    const [method] = found.length === 0 ? [''] : found.map(([, each]: [string, unknown]) => each);
    return found.length > 1 || typeof method !== 'string' ? undefined : method;
  });
  return methods.every((method) => method !== undefined) ? methods : undefined;
}

const blank = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const letter = fc.constantFrom(...'methodidMETHOD_{}[]:,"\\/ é𝒳\n0x1');
const content = fc.array(letter, { maxLength: 12 }).map((letters) => letters.join(''));
/** JSON text for a string, some of its characters as escapes. */
const stringOf = (text: string) =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }).map((flags) => {
    const units = Array.from({ length: text.length }, (_, at) => {
      const plain = text.codePointAt(at) ?? 0;
      const isAscii = plain >= 0x20 && plain < 0x7f && !'"\\'.includes(text.charAt(at));
      const code = text.charCodeAt(at).toString(16).padStart(4, '0');
      return isAscii && !flags[at] ? text.charAt(at) : `\\u${code}`;
    });
    return `"${units.join('')}"`;
  });
const key = fc
  .oneof(
    // Two that are called method are another test: JSON.parse does not show the first one.
    fc.constantFrom('id', 'params', 'jsonrpc', 'methods', 'metho'),
    content,
  )
  .chain(stringOf);
const scalar = fc.oneof(
  fc.constantFrom('0', '-0', '12', '1.5e+3', '01', '1.', '.5', '-', 'true', 'false', 'null', 'nul', '0x1'),
  fc.constant('{"method":"inner"}'),
  content.chain(stringOf),
  content.map((text) => JSON.stringify(text)),
);
const spaced = (parts: fc.Arbitrary<string>[]) =>
  fc.tuple(...parts.flatMap((part) => [blank, part])).map((texts) => texts.join(''));
const listOf = (each: fc.Arbitrary<string>, open: string, close: string, maxLength: number) =>
  fc
    .array(spaced([each]), { maxLength })
    .chain((entries) => blank.map((end) => `${open}${entries.join(',')}${end}${close}`));
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    listOf(tie('value'), '[', ']', 3),
    listOf(spaced([key, fc.constant(':'), tie('value')]), '{', '}', 3),
  ),
}));
const name = fc.constantFrom('eth_call', 'eth_getLogs', 'debug_traceBlock').chain(stringOf);
const call = fc
  .tuple(
    fc.constantFrom('method', 'Method', 'METHOD').chain(stringOf),
    name,
    fc.array(fc.tuple(key, value), { maxLength: 3 }),
  )
  .chain(([methodKey, method, others]) => {
    const fields = [[methodKey, method], ...others].map(([each, given]) => `${each}:${given}`);
    return fc.shuffledSubarray(fields).map((chosen) => `{${chosen.join(',')}}`);
  });
const whole = fc.oneof(call, listOf(call, '[', ']', 6), listOf(fc.oneof(call, value), '[', ']', 4), value);
/** A body, whole or with bytes that are cut or changed. */
const body = fc
  .tuple(spaced([whole]), blank, fc.nat(5), fc.nat(), fc.nat(255))
  .map(([text, end, damage, at, byte]) => {
    const bytes = Buffer.from(text + end);
    if (damage === 0) return bytes.subarray(0, at % (bytes.length + 1));
    if (damage === 1 && bytes.length > 0) bytes[at % bytes.length] = byte;
    return bytes;
  });

const usualText = fc.constantFrom(
  'method',
  'eth_call',
  '0xab',
  'latest',
  '',
  'é',
  '0x1',
  '0x2',
  'pending',
  '"',
);
const usualKey = fc.constantFrom('to', 'data', 'topics', 'Method', 'method', 'id');
const { parameter } = fc.letrec<{ parameter: unknown }>((tie) => ({
  parameter: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(usualText, fc.double({ noNaN: true }), fc.boolean(), fc.constant(null)),
    fc.array(tie('parameter'), { maxLength: 3 }),
    fc.dictionary(usualKey, tie('parameter'), { maxKeys: 2 }),
  ),
}));
/** One of the first in nine of ten cases. */
const often = (usual: string[], others: string[]) =>
  fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
const usualFields: readonly fc.Arbitrary<string>[] = [
  often(['"jsonrpc":"2.0"', '"jsonrpc" : "2.0"'], ['"jsonrpc":"1.0"', '"jsonrpc":2']),
  often(['0', '7', '123456789'], ['01', '-1', '"a"', 'null', '1e3']).map((id) => `"id":${id}`),
  often(['eth_call', 'eth_getLogs'], ['', 'eth-call', 'é']).map((method) => `"method":"${method}"`),
  fc
    .array(parameter, { maxLength: 3 })
    .map((list) => `"params":${JSON.stringify(list, null, list.length % 2)}`),
];
/** A call with some of the usual fields, most often each once. */
const usualCall = fc
  .tuple(fc.tuple(...usualFields), fc.nat(9), fc.tuple(blank, blank))
  .chain(([[one, two, method, four], which, [before, after]]) =>
    fc
      .shuffledSubarray(
        [one, two, method, four, ...(which === 0 ? [method] : []), ...(which === 1 ? [two] : [])],
        {
          minLength: 3,
        },
      )
      .map((given) => `{${before}${given.join(`${after},`)}${after}}`),
  );
const usualBatch = fc.array(usualCall, { minLength: 1, maxLength: 3 }).map((list) => `[${list.join(', ')}]`);
/** With a byte that is changed, added or taken away, in one of four. */
const nearlyPlain = fc
  .tuple(fc.oneof(usualCall, usualBatch), fc.nat(11), fc.nat(), fc.nat(255))
  .map(([text, damage, at, byte]) => {
    const bytes = Buffer.from(text);
    const place = at % bytes.length;
    if (damage > 2) return bytes;
    const more = damage === 2 ? [] : [byte];
    return Buffer.from([
      ...bytes.subarray(0, place),
      ...more,
      ...bytes.subarray(damage === 0 ? place : place + 1),
    ]);
  });

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('calls of a body', () => {
  test('10,000 bodies are read as JSON.parse reads them', async () => {
    const bodies = fc.sample(body, { numRuns: 10_000, seed: 34 });
    const found = await readByGateway(bodies);
    const wanted = bodies.map(readByReference);
    const wrong = bodies.flatMap((each, at) =>
      JSON.stringify(found[at]?.methods) === JSON.stringify(wanted[at])
        ? []
        : [{ body: each.toString(), found: found[at]?.methods, wanted: wanted[at] }],
    );
    expect(wrong).toEqual([]);
    expect(wanted.filter((each) => each && each.length > 1).length).toBeGreaterThan(500);
    expect(wanted.filter((each) => each === undefined).length).toBeGreaterThan(500);
  });

  const nested = (depth: number) => `{"method":"a","params":${'['.repeat(depth)}${']'.repeat(depth)}}`;

  test.each<[string, string | Buffer, string[] | undefined]>([
    ['escapes in the name of the field and of the method', '{"m\\u0065THOD":"eth\\u005fcall"}', ['eth_call']],
    ['an escaped backslash', '{"method":"a\\\\u0062"}', ['a\\u0062']],
    ['a method inside parameters', '{"params":[{"method":"b"},"]}"],"method":"a"}', ['a']],
    ['no method', '{}', ['']],
    ['an empty batch', ' [ ] ', []],
    ['a batch after blanks', `${'\r\n\t '.repeat(1000)}[{"method":"a"},{"method":"b"}]`, ['a', 'b']],
    ['lists in lists', nested(1000), ['a']],
    ['lists that are too deep', nested(1002), undefined],
    ['two methods', '{"method":"a","method":"b"}', undefined],
    ['two methods in other cases', '{"method":"a","Method":"b"}', undefined],
    ['a method that is no text', '{"method":null}', undefined],
    ['an entry that is no call', '[{"method":"a"},null]', undefined],
    ['a list in a batch', '[[{"method":"a"}]]', undefined],
    ['two bodies', '{"method":"a"}{"method":"b"}', undefined],
    ['a body that is cut', '[{"method":"a"},{"method":"b"}', undefined],
    ['a comma at the end', '[{"method":"a"},]', undefined],
    ['a control character', '{"method":"a\n"}', undefined],
    ['other blanks', '\u00a0{"method":"a"}', undefined],
    ['a byte order mark', '\ufeff{"method":"a"}', undefined],
    ['UTF-16', Buffer.from('{"method":"a"}', 'utf16le'), undefined],
    ['compressed', gzipSync('{"method":"a"}'), undefined],
  ])('%s', async (_, text, methods) => {
    const [found] = await readByGateway([Buffer.from(text)]);
    expect(found?.methods).toEqual(methods);
  });

  test('20,000 bodies that HAProxy takes for plain, or nearly so, are read as by its reader', async () => {
    const bodies = fc.sample(nearlyPlain, { numRuns: 20_000, seed: 35 });
    const found = await readByGateway(bodies);
    const single = bodies.filter((_, at) => found[at]?.isPlainCall);
    const batches = found.filter(({ isPlainCall, plain }) => plain && !isPlainCall);
    const wrong = found.flatMap((each, at) => {
      if (!each.plain) return [];
      const json = JSON.parse(String(bodies[at]));
      const isRight =
        JSON.stringify(each.plain) === JSON.stringify(each.methods) &&
        Array.isArray(json) === !each.isPlainCall &&
        (!each.isPlainCall || each.id === String(json.id ?? null));
      return isRight ? [] : [{ body: String(bodies[at]), ...each }];
    });
    expect(wrong).toEqual([]);
    expect([single.length, batches.length].map((count) => count > 1500)).toEqual([true, true]);
    expect(bodies.length - single.length - batches.length).toBeGreaterThan(3000);
  });

  test.each<[string, string, string | undefined]>([
    ['web3.js', '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x1"},"latest"]}', 'call'],
    ['ethers', '{"method":"eth_chainId","params":[],"id":42,"jsonrpc":"2.0"}', 'call'],
    [
      'web3.py',
      '{"jsonrpc": "2.0", "method": "eth_getLogs", "params": [{"topics": [["0x1"]]}], "id": 0}',
      'call',
    ],
    ['no parameters', '{"id":1,"method":"eth_chainId"}', 'call'],
    ['a batch', '[{"id":1,"method":"eth_chainId"},{"id":2,"method":"eth_call","params":[]}]', 'batch'],
    ['another case', '{"id":1,"Method":"eth_chainId"}', undefined],
    ['two methods', '{"id":1,"method":"eth_chainId","method":"eth_call"}', undefined],
    ['two ids', '{"id":1,"id":2,"method":"eth_chainId"}', undefined],
    ['an escape', '{"id":1,"method":"eth_chain\\u0049d"}', undefined],
    ['a field called method in parameters', '[{"method":"eth_call","params":[{"method":"a"}]}]', undefined],
    ['another field', '{"id":1,"method":"eth_chainId","x":1}', undefined],
    ['an id that is text', '{"id":"1","method":"eth_chainId"}', undefined],
    ['no method', '{"id":1}', undefined],
    ['a comma at the end', '{"id":1,"method":"eth_chainId",}', undefined],
    ['something behind it', '{"id":1,"method":"eth_chainId"}\u0000', undefined],
    ['an empty batch', '[]', undefined],
    ['lists in five others', '{"method":"eth_call","params":[[[[[]]]]]}', undefined],
  ])('plain for HAProxy: %s', async (_, text, kind) => {
    const [found] = await readByGateway([Buffer.from(text)]);
    const batch = found?.plain ? 'batch' : undefined;
    expect(found?.isPlainCall ? 'call' : batch).toBe(kind);
  });
});
