import type { Compared } from '../host.ts';
import { readScript, withArguments } from '../script.ts';
import { type Batch, readTimeout, type VectorRead } from './batch.ts';
import { checkPath, ownFile, requireProgram } from './path.ts';

/** A file to read, unless it has this SHA-256 (in hex) or is larger than this many bytes. */
interface Query {
  readonly path: string;
  readonly sha256?: string;
  readonly largest?: number;
}

/** Several files changed while they were read, so that they cannot be separated. */
const unsure = Symbol('unsure');

const functions = [
  new URL('../folder-names.sh', import.meta.url),
  new URL('held-content.sh', import.meta.url),
];
const script = readScript(
  ...functions,
  new URL('sums.sh', import.meta.url),
  new URL('content.sh', import.meta.url),
);
const aloneScript = readScript(...functions, new URL('content-alone.sh', import.meta.url));

/**
 * A file's content, or undefined if it does not exist. Follows links; where another user than root
 * can change the names on the way, only to what that user can read.
 *
 * @throws Error when the file exists and cannot be read
 */
export async function readFile(batch: Batch, path: string): Promise<Buffer | undefined> {
  const compared = await compareFile(batch, { path });
  return compared.same ? undefined : compared.content;
}

/**
 * Whether a file has a content, and the content that it has instead. Follows links.
 *
 * @throws Error when it cannot be read
 */
export async function compareFile(batch: Batch, query: Query): Promise<Compared> {
  const compared = await batch.ask(contentRead, query);
  if (compared !== unsure) return compared;
  const content = await readAlone(batch, query.path);
  return {
    same: false,
    content: content && content.length <= (query.largest ?? Infinity) ? content : undefined,
  };
}

/**
 * One `sha256sum` over all files with a hash to compare, and one `wc` and one `cat` over those
 * that are sent.
 */
const contentRead: VectorRead<Query, Compared | typeof unsure> = {
  name: 'content',
  id: ({ path, sha256 = '-', largest = '' }) => `${sha256}:${largest} ${checkPath(path)}`,
  path: ({ path }) => ownFile(path),
  group: ({ sha256 }) => (sha256 === undefined ? 'read' : 'compare'),
  command: (queries) =>
    withArguments(script, [
      queries.map(({ sha256 = '-', largest = '' }) => `${sha256}:${largest}`).join(' '),
      queries.map(({ path }) => path),
    ]),
  answers(output, queries) {
    requireProgram('sha256sum', output);
    const ids = queries.map((query) => contentRead.id(query));
    return (output.ok ? parseReply(output.bytes, ids) : undefined) ?? new Map(ids.map((id) => [id, unsure]));
  },
  absent: () => ({ same: false, content: undefined }),
};

/**
 * @returns the output of content.sh, by the ids of the queries; undefined if the contents do not
 * match their sizes
 */
function parseReply(bytes: Buffer, ids: readonly string[]): Map<string, Compared> | undefined {
  const sameEnd = bytes.indexOf('\n');
  const sentEnd = bytes.indexOf('\n', sameEnd + 1);
  const idsIn = (from: number, to: number) =>
    bytes
      .toString('latin1', from, to)
      .split(' ')
      .filter(Boolean)
      .map((number) => ids[Number(number) - 1]);
  const compared = new Map<string, Compared>();
  for (const id of idsIn(0, sameEnd)) compared.set(id ?? '', { same: true });
  const sent = idsIn(sameEnd + 1, sentEnd);
  if (sent.length === 0) return compared;

  const sizesEnd = bytes.indexOf('\n\n', sentEnd);
  const sizes = bytes.toString('latin1', sentEnd + 1, sizesEnd).split('\n');
  let at = sizesEnd + 2;
  for (const [index, id] of sent.entries()) {
    const size = Number.parseInt(sizes[index] ?? '', 10);
    if (id === undefined || !(size >= 0)) return undefined;
    compared.set(id, { same: false, content: bytes.subarray(at, at + size) });
    at += size;
  }
  return at === bytes.length ? compared : undefined;
}

async function readAlone(batch: Batch, path: string): Promise<Buffer | undefined> {
  const output = await batch.run({
    text: withArguments(aloneScript, [path]),
    timeoutSeconds: readTimeout,
  });
  if (output.ok) return output.bytes;
  if (output.exitCode === 66) return undefined;
  const why = output.timedOut ? `no answer within ${readTimeout} s` : output.stderr.trim();
  throw new Error(`${path} cannot be read: ${why}`);
}
