import { quote } from '../quote.ts';
import { type Batch, type Kind, readTimeout } from './batch.ts';
import { checkPath } from './path.ts';

/** Several files changed while they were read, so that one cannot be told from the next. */
const unsure = Symbol('unsure');

/** A file's content, or undefined where there is none. Follows links. @throws Error when the file is there and cannot be read */
export async function readFile(batch: Batch, path: string): Promise<Buffer | undefined> {
  const content = await batch.ask(readKind, path);
  return content === unsure ? readAlone(batch, path) : content;
}

/** Shell: sends the files that are its arguments, whose numbers are in $__n. */
export const sendContents = `echo $__n
[ $# = 0 ]&&exit 0
wc -c -- "$@"
echo
cat -- "$@"`;

/**
 * One `wc` and one `cat` over all files. First come the numbers of the paths that are files, then their sizes, then an empty
 * line and the contents one after another.
 */
const readKind: Kind<string, Buffer | undefined | typeof unsure> = {
  name: 'read',
  id: checkPath,
  command: (paths) => `__i=0;__n=
for __f in ${quote(paths)};do
__i=$((__i+1))
[ -f "$__f" ]||continue
__n="$__n $__i"
set -- "$@" "$__f"
done
${sendContents}`,
  answers(output, paths) {
    const contents = parseContents(output.bytes, paths);
    return contents && output.ok ? contents : new Map(paths.map((path) => [path, unsure]));
  },
  absent: () => undefined,
};

/**
 * Contents as the host sends them: numbers of those that are there, counted from 1, their sizes, an empty line, and the bytes.
 *
 * @returns undefined where they do not fit their sizes
 */
export function parseContents(bytes: Buffer, paths: readonly string[]): Map<string, Buffer> | undefined {
  const firstEnd = bytes.indexOf(10);
  const present = bytes.subarray(0, firstEnd).toString().split(' ').filter(Boolean);
  if (present.length === 0) return new Map();
  const headEnd = bytes.indexOf('\n\n', firstEnd);
  const sizes = bytes
    .subarray(firstEnd + 1, headEnd)
    .toString()
    .split('\n');
  const contents = new Map<string, Buffer>();
  let at = headEnd + 2;
  for (const [index, number] of present.entries()) {
    const path = paths[Number(number) - 1];
    const size = Number.parseInt(sizes[index] ?? '', 10);
    if (path === undefined || !(size >= 0)) return undefined;
    contents.set(path, bytes.subarray(at, at + size));
    at += size;
  }
  return at === bytes.length ? contents : undefined;
}

/** @throws Error when the file is there and cannot be read */
export async function readAlone(batch: Batch, path: string): Promise<Buffer | undefined> {
  const output = await batch.run(`[ -f ${quote(path)} ]||exit 66\ncat -- ${quote(path)}`, readTimeout);
  if (output.ok) return output.bytes;
  if (output.exitCode === 66) return undefined;
  throw new Error(
    `${path} cannot be read: ${output.timedOut ? `no answer within ${readTimeout} s` : output.stderr.trim()}`,
  );
}
