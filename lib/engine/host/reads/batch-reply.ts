import { Output } from '../output.ts';

/**
 * Parses the output of batch.sh: the sizes by `wc -c` of the files `codes`, `o1`, `e1`, `o2`,
 * `e2`, …, then their contents one after another in the same order. No output of a command can be
 * mistaken for a boundary.
 *
 * @param count how many commands the batch had
 * @returns the output of each command; undefined where the host could not keep it
 * @throws ReplySizeMismatch when the sizes do not add up, Error when they are missing
 */
export function parseBatchReply(reply: Buffer, count: number): (Output | undefined)[] {
  const { sizes, end } = readSizes(reply);
  const files = new Map<string, Buffer>();
  let at = end;
  for (const [name, size] of sizes) {
    files.set(name, reply.subarray(at, at + size));
    at += size;
  }
  if (at !== reply.length) throw new ReplySizeMismatch(`${at} bytes were announced and ${reply.length} came`);

  const codes = readCodes(files.get('codes'));
  return Array.from({ length: count }, (_, index) => {
    const ended = codes.get(index + 1);
    const stdout = files.get(`o${index + 1}`);
    const stderr = files.get(`e${index + 1}`);
    if (!ended || !stdout || !stderr) return undefined;
    return new Output(ended.code, stdout, stderr.toString('utf8'), ended.timedOut, ended.seconds);
  });
}

/** A process that a command left running still writes. */
export class ReplySizeMismatch extends Error {}

/** The lines of `wc -c`, up to the one with the total. */
function readSizes(reply: Buffer): { sizes: [string, number][]; end: number } {
  const sizes: [string, number][] = [];
  let at = 0;
  for (;;) {
    const end = reply.indexOf(10, at);
    const [, size, name] =
      /^ *(\d+) (\w+)$/.exec(reply.subarray(at, end < 0 ? at : end).toString('latin1')) ?? [];
    if (size === undefined || name === undefined) throw new Error('the sizes of the reply are missing');
    at = end + 1;
    if (name === 'total') return { sizes, end: at };
    sizes.push([name, Number(size)]);
  }
}

/**
 * Lines of index, exit code, whether the time limit was reached, and the host's uptime at the
 * start and the end.
 */
function readCodes(
  bytes: Buffer | undefined,
): Map<number, { code: number; timedOut: boolean; seconds: number }> {
  const lines = (bytes?.toString('latin1') ?? '').matchAll(/^(\d+) (\d+) ([01])(?: ([\d.]*) ([\d.]*))?$/gm);
  return new Map(
    [...lines].map(([, index, code, late, from, to]) => [
      Number(index),
      {
        code: late === '1' ? 124 : Number(code),
        timedOut: late === '1',
        seconds: Number(to ?? 0) - Number(from ?? 0),
      },
    ]),
  );
}
