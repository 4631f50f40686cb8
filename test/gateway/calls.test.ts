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

/** Reads each body of a file, and writes the methods that it found: HAProxy's own Lua runs it. */
const reader = (folder: string) => `
  local bodies = io.open("${folder}/bodies", "rb"):read("a")
  local out, at = io.open("${folder}/found", "wb"), 1
  while at <= #bodies do
    local body
    body, at = string.unpack("<s4", bodies, at)
    local list = calls.read(body)
    local methods = {}
    for place, call in ipairs(list or {}) do methods[place] = call.method end
    out:write(string.pack("<i4", list and #list or -1))
    for _, method in ipairs(methods) do out:write(string.pack("<s4", method)) end
  end
  out:close()`;

/** Methods of each body, as calls.lua reads it; undefined for a refused one. */
async function readByGateway(bodies: readonly Buffer[]): Promise<(string[] | undefined)[]> {
  const folder = await mkdtemp(join(tmpdir(), 'calls-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const length = (body: Buffer) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(body.length);
    return bytes;
  };
  await writeFile(join(folder, 'bodies'), Buffer.concat(bodies.flatMap((body) => [length(body), body])));
  await writeFile(join(folder, 'reader.lua'), reader(folder));
  const calls = fileURLToPath(new URL('../../templates/gateway/calls.lua', import.meta.url));
  await writeFile(join(folder, 'rules.lua'), 'rules = { keys = {}, limits = {}, heavy = {} }');
  const settings = `global\n  lua-load ${folder}/rules.lua\n  lua-load ${calls}\n  lua-load ${folder}/reader.lua\n
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
  return bodies.map(() => {
    const count = number();
    return count < 0 ? undefined : Array.from({ length: count }, text);
  });
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

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('calls of a body', () => {
  test('10,000 bodies are read as JSON.parse reads them', async () => {
    const bodies = fc.sample(body, { numRuns: 10_000, seed: 34 });
    const found = await readByGateway(bodies);
    const wanted = bodies.map(readByReference);
    const wrong = bodies.flatMap((each, at) =>
      JSON.stringify(found[at]) === JSON.stringify(wanted[at])
        ? []
        : [{ body: each.toString(), found: found[at], wanted: wanted[at] }],
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
    expect(await readByGateway([Buffer.from(text)])).toEqual([methods]);
  });
});
