import type { Compared } from '../host.ts';
import type { Output } from '../output.ts';
import { quote } from '../quote.ts';
import type { Batch, Kind } from './batch.ts';
import { checkPath, programMissing } from './path.ts';
import { parseContents, readAlone, sendContents } from './read.ts';

interface Key {
  readonly path: string;
  readonly sha256: string;
  readonly largest: number;
}

/** Several files changed while they were read, so that one cannot be told from the next. */
const unsure = Symbol('unsure');

/** Whether a file has a content, and the content that it has instead. Follows links. @throws Error when it cannot be read */
export async function compareFile(batch: Batch, key: Key): Promise<Compared> {
  const compared = await batch.ask(compareKind, key);
  if (compared !== unsure) return compared;
  const content = await readAlone(batch, key.path);
  return { same: false, content: content && content.length <= key.largest ? content : undefined };
}

/**
 * One `sha256sum` over all files, and one `cat` over those that differ. First come the numbers of those that are the same, then what
 * `sendContents` says.
 */
const compareKind: Kind<Key, Compared | typeof unsure> = {
  name: 'compare',
  id: ({ path, sha256, largest }) => `${largest} ${sha256} ${checkPath(path)}`,
  // sha256sum begins a line with a backslash where the name holds one, and doubles each of the name's.
  command: (keys) => `__l='
'
__s=$(sha256sum -- ${quote([...new Set(keys.map(({ path }) => path))])})
__c=$?
[ $__c -lt 126 ]||exit $__c
__s=$__l$__s$__l
__i=0;__m=;__n=
__k(){
__i=$((__i+1))
case $__s in *"$__l$1  $3$__l"*|*"$__l\\\\$1  $4$__l"*)__m="$__m $__i";return;;esac
[ -f "$3" ]&&[ "$(wc -c <"$3")" -le "$2" ]&&__n="$__n $__i "
}
${keys.map(({ path, sha256, largest }) => `__k ${quote([sha256, String(largest), path, path.replaceAll('\\', '\\\\')])}`).join('\n')}
__i=0
for __f in ${quote(keys.map(({ path }) => path))};do
__i=$((__i+1))
case $__n in *" $__i "*)set -- "$@" "$__f";;esac
done
echo $__m
${sendContents}`,
  answers(output, keys) {
    if (programMissing(output.exitCode)) throw new Error(`sha256sum: ${output.stderr.trim()}`);
    return read(output, keys) ?? new Map(keys.map((key) => [compareKind.id(key), unsure]));
  },
  absent: () => ({ same: false, content: undefined }),
};

function read(output: Output, keys: readonly Key[]): Map<string, Compared> | undefined {
  if (!output.ok) return undefined;
  const firstEnd = output.bytes.indexOf(10);
  const ids = keys.map((key) => compareKind.id(key));
  const contents = parseContents(output.bytes.subarray(firstEnd + 1), ids);
  if (!contents) return undefined;
  const compared = new Map<string, Compared>();
  for (const [id, content] of contents) compared.set(id, { same: false, content });
  for (const number of output.bytes.subarray(0, firstEnd).toString().split(' ').filter(Boolean)) {
    compared.set(ids[Number(number) - 1] ?? '', { same: true });
  }
  return compared;
}
