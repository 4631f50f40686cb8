import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseBatchReply, ReplySizeMismatch } from './batch-reply.ts';

interface Left {
  readonly code: number;
  readonly timedOut: boolean;
  readonly stdout: Uint8Array;
  readonly stderr: string;
}

/** A reply in the format of a host. */
function reply(all: readonly Left[], codes = all.map((_, index) => index)): Buffer {
  const lines = codes.map((index) => `${index + 1} ${all[index]?.code} ${all[index]?.timedOut ? 1 : 0}\n`);
  const files: [string, Buffer][] = [
    ['codes', Buffer.from(`0 0 0\n${lines.join('')}`)],
    ...all.flatMap(({ stdout, stderr }, index): [string, Buffer][] => [
      [`o${index + 1}`, Buffer.from(stdout)],
      [`e${index + 1}`, Buffer.from(stderr)],
    ]),
  ];
  const total = files.reduce((sum, [, bytes]) => sum + bytes.length, 0);
  const sizes = [
    ...files.map(([name, bytes]) => `${String(bytes.length).padStart(7)} ${name}\n`),
    `${total} total\n`,
  ];
  return Buffer.concat([Buffer.from(sizes.join('')), ...files.map(([, bytes]) => bytes)]);
}

const left = fc.record({
  code: fc.integer({ min: 0, max: 255 }),
  timedOut: fc.boolean(),
  stdout: fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    // The markers of the reply itself.
    fc.constantFrom('12 o1\n', '9 total\n', '1 0 0\n', '', '\n').map((text) => Buffer.from(text)),
  ),
  stderr: fc.constantFrom('', 'sh: not found\n', '7 total\n'),
});

test('the output of commands comes back exactly, in whatever order they ended', () => {
  fc.assert(
    fc.property(fc.array(left, { minLength: 1, maxLength: 20 }), fc.integer(), (all, seed) => {
      const order = all.map((_, index) => index).sort((a, b) => ((a * 7 + seed) % 5) - ((b * 7 + seed) % 5));
      const outputs = parseBatchReply(reply(all, order), all.length);
      for (const [index, one] of all.entries()) {
        const output = outputs[index];
        expect(output?.bytes.equals(one.stdout)).toBe(true);
        expect(output?.stderr).toBe(one.stderr);
        expect(output?.timedOut).toBe(one.timedOut);
        expect(output?.exitCode).toBe(one.timedOut ? 124 : one.code);
      }
    }),
  );
});

test('a reply that is too long or too short is detected', () => {
  const whole = reply([{ code: 0, timedOut: false, stdout: Buffer.from('abc'), stderr: '' }]);
  expect(() => parseBatchReply(Buffer.concat([whole, Buffer.from('x')]), 1)).toThrow(
    new ReplySizeMismatch('60 bytes were announced and 61 came'),
  );
  expect(() => parseBatchReply(whole.subarray(0, -1), 1)).toThrow(ReplySizeMismatch);
  expect(() => parseBatchReply(Buffer.from('sh: wc: not found\n'), 1)).toThrow(
    'the sizes of the reply are missing',
  );
});

test('a command has no output if the host could not record its end', () => {
  const one = { code: 0, timedOut: false, stdout: Buffer.from('a'), stderr: '' };
  expect(parseBatchReply(reply([one, one], [1]), 2).map((output) => output?.stdout)).toEqual([
    undefined,
    'a',
  ]);
});
