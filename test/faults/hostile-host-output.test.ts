import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Connection, ConnectionLost, connect } from '../../lib/engine/host/connection.ts';
import { createConnection } from '../../lib/engine/host/create-connection.ts';
import { parseBlockDevices } from '../../lib/engine/host/facts/block-devices.ts';
import { parseCpu } from '../../lib/engine/host/facts/cpu.ts';
import { gatherFacts } from '../../lib/engine/host/facts/gather-facts.ts';
import { parseMounts } from '../../lib/engine/host/facts/mounts.ts';
import { parseOsRelease } from '../../lib/engine/host/facts/os-release.ts';
import { createReader } from '../../lib/engine/host/reader.ts';
import { parseBatchReply } from '../../lib/engine/host/reads/batch-reply.ts';
import { thisMachine } from '../../lib/engine/inventory/testing/this-machine.ts';
import { linesOf } from '../../lib/engine/output/lines.ts';
import { blockAt, blockNumber } from '../../lib/node/chain/chain.ts';
import { seed } from './seed.ts';

const marks = [
  '12 o1\n',
  '9 total\n',
  '1 0 0\n',
  '0 0 0\n',
  ' 7 codes\n',
  '99999999999999999999 total\n',
  '\n\n',
  '\r\n',
  '\0',
  '\u001b]0;x\u0007',
  '{"blockdevices":[null,{"path":5,"children":[[]]}]}\n\nprobed 2 x\n',
  '{"Id":5,"Name":{}}\n',
  '[[[[',
  '\\N\t\\.\n',
  '/ - ext4 /dev/x rw\n',
  'a'.repeat(5000),
  ' '.repeat(5000),
];
/** Random bytes, and parts of replies. Mostly not UTF-8. */
const noise = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom(...marks).map((text) => Buffer.from(text)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Buffer.concat(parts));

/** A reply of a host in which every command printed the same. */
function reply(count: number, printed: Buffer): Buffer {
  const codes = Buffer.from(`0 0 0\n${Array.from({ length: count }, (_, i) => `${i + 1} 0 0\n`).join('')}`);
  const files: [string, Buffer][] = [['codes', codes]];
  for (let i = 1; i <= count; i += 1) files.push([`o${i}`, printed], [`e${i}`, printed]);
  const total = files.reduce((sum, [, { length }]) => sum + length, 0);
  return Buffer.concat([
    Buffer.from([...files.map(([name, { length }]) => `${length} ${name}\n`), `${total} total\n`].join('')),
    ...files.map(([, bytes]) => bytes),
  ]);
}

/** A host that answers every request with the same output. */
function answering(printed: Buffer, how: 'framed' | 'raw'): Connection {
  return createConnection(
    'h',
    {
      async run(command) {
        const script = Buffer.from(
          /' sh ([\w+/= ]+)$/.exec(command)?.[1]?.replaceAll(' ', '') ?? '',
          'base64',
        ).toString();
        const nonce = /^echo ([0-9a-f]{24});/m.exec(script)?.[1] ?? '';
        const count = [...script.matchAll(/^__run \d+ /gm)].length;
        const body = how === 'raw' ? printed : reply(count, printed);
        return { code: 0, stdout: Buffer.concat([Buffer.from(`${nonce}\n`), body]), stderr: printed };
      },
      async close() {},
    },
    { prefix: '', password: undefined },
  );
}

/** A result, or an error message. An error that JavaScript throws itself is a bug of ours. */
async function answered(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (
      error instanceof TypeError ||
      error instanceof RangeError ||
      error instanceof SyntaxError ||
      !(error instanceof Error)
    )
      throw new Error(`an error that nobody foresaw: ${error instanceof Error ? error.stack : error}`);
  }
}

describe('hostile output of hosts', () => {
  test('10,000 replies of random bytes, frame marks and cuts: taken apart or refused', {
    timeout: 120_000,
  }, () => {
    const whole = fc
      .tuple(fc.integer({ min: 1, max: 6 }), noise)
      .map(([count, printed]) => reply(count, printed));
    const replies = fc.oneof(
      noise,
      whole,
      fc.tuple(whole, fc.nat(2000)).map(([bytes, at]) => bytes.subarray(0, at)),
      fc
        .tuple(whole, fc.nat(300), noise)
        .map(([bytes, at, put]) => Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at)])),
    );
    fc.assert(
      fc.property(replies, fc.integer({ min: 1, max: 6 }), (bytes, count) => {
        try {
          expect(parseBatchReply(bytes, count)).toHaveLength(count);
        } catch (error) {
          expect(String(error)).toMatch(/sizes of the reply are missing|bytes were announced/);
        }
      }),
      { numRuns: 10_000, seed },
    );
  });

  test('2,000 hosts whose every answer is noise: every kind of read answers or fails in words', {
    timeout: 240_000,
  }, async () => {
    const target = { container: 'state-db', user: 'u', database: 'd' };
    await fc.assert(
      fc.asyncProperty(noise, fc.constantFrom('framed', 'framed', 'raw'), async (printed, how) => {
        const host = createReader(answering(printed, how), 'h');
        await Promise.all([
          answered(gatherFacts(host)),
          answered(host.stat('/etc/x')),
          answered(host.sha256('/etc/x')),
          answered(host.read('/etc/x')),
          answered(host.package('curl')),
          answered(host.unit('docker')),
          answered(host.container('state-db')),
          answered(host.sql(target, 'select 1')),
          answered(blockNumber(host, 'http://x')),
          answered(blockAt(host, 'http://x', 'latest')),
        ]);
      }),
      { numRuns: 2000, seed },
    );
  });

  test.each<[string, string]>([
    ['spaces', ' '],
    ['digits', '1'],
    ['colons', ':'],
    ['line breaks', '\n'],
    ['quotes', '"'],
    ['backslashes', '\\'],
    ['brackets', '{"blockdevices":['],
    ['tabs', '\t'],
    ['"a: "', 'a: '],
  ])('a line of four million %s holds nobody up', { timeout: 120_000 }, async (_, one) => {
    const text = one.repeat(4_000_000 / one.length);
    const before = process.cpuUsage();
    for (const parse of [parseCpu, parseMounts, parseBlockDevices, parseOsRelease] as ((
      text: string,
    ) => unknown)[])
      parse(text);
    const host = createReader(answering(Buffer.from(text), 'framed'), 'h');
    await Promise.all([
      answered(host.stat('/x')),
      answered(host.unit('docker')),
      answered(host.container('x')),
      answered(host.package('curl')),
      answered(blockNumber(host, 'http://x')),
    ]);
    // Of the processor, in microseconds: other programs lengthen the time itself.
    expect(process.cpuUsage(before).user).toBeLessThan(20_000_000);
  });

  test('JSON of every form where a document of Docker, lsblk or a node is due', {
    timeout: 120_000,
  }, async () => {
    const json = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          jsonrpc: fc.constant('2.0'),
          result: fc.jsonValue(),
          error: fc.oneof(fc.jsonValue(), fc.constant({ code: { toString: 1 }, message: [] })),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        { Id: fc.jsonValue(), Name: fc.jsonValue(), State: fc.jsonValue(), Config: fc.jsonValue() },
        { requiredKeys: [] },
      ),
      fc.record({
        blockdevices: fc.oneof(
          fc.jsonValue(),
          fc.array(
            fc.record(
              { path: fc.jsonValue(), size: fc.jsonValue(), children: fc.jsonValue() },
              { requiredKeys: [] },
            ),
          ),
        ),
      }),
    );
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        const host = createReader(answering(Buffer.from(`${JSON.stringify(value)}\n`), 'framed'), 'h');
        const server = createReader(
          answering(Buffer.from(`HTTP/1.1 200\n\n${JSON.stringify(value)}\n`), 'framed'),
          'h',
        );
        await Promise.all([
          answered(host.container('x')),
          answered(blockNumber(server, 'http://x')),
          answered(blockAt(server, 'http://x', 1)),
          answered(gatherFacts(host)),
        ]);
      }),
      { numRuns: 3000, seed },
    );
    const deep = `{"result":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    await answered(blockNumber(createReader(answering(Buffer.from(deep), 'framed'), 'h'), 'http://x'));
  });

  test('a host that goes on printing is given up, and memory stays bounded', {
    timeout: 120_000,
  }, async () => {
    const connection = await connect('here', thisMachine);
    const before = process.memoryUsage().rss;
    await expect(connection.exec('cat /dev/zero', { timeoutSeconds: 60 })).rejects.toThrow(ConnectionLost);
    expect(process.memoryUsage().rss - before).toBeLessThan(20 * 32 * 2 ** 20);
  });

  test('no word of a host steers the terminal, and none fills it', () => {
    const style = {
      paint: (_: unknown, text: string) => text,
      verbose: true,
      quiet: false,
      diff: 'whole',
      check: true,
      hostWidth: 4,
      width: () => undefined,
    } as const;
    const task = { host: 'h', play: 'p', role: 'r', resource: 'x' };
    fc.assert(
      fc.property(noise.map(String), (text) => {
        const differences = [{ what: text, was: text, wanted: 'x' }];
        const events = [
          {
            type: 'resource-done',
            task: { ...task, resource: text },
            outcome: 'failed',
            differences,
            note: text,
            error: new Error(text),
            seconds: 0,
            commands: [text],
          },
          { type: 'host-unreachable', host: 'h', error: new Error(text) },
          { type: 'host-stopped', host: 'h', play: 'p', why: text, left: 1, next: text },
          { type: 'run-started', playbook: 'deploy', inventory: text, check: false, hosts: ['h'] },
          { type: 'play-skipped', play: 'p', why: text },
        ] as const;
        for (const event of events) {
          for (const line of linesOf(event, style)) {
            expect(line).not.toMatch(/(?![\t\n])\p{Cc}/u);
            expect(line.length).toBeLessThan(50_000);
          }
        }
      }),
      { numRuns: 1000, seed },
    );
  });
});
