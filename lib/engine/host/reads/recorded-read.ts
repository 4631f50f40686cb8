import { type Batch, groupOf, type VectorRead } from './batch.ts';

/**
 * A read that was made: a command, or a key of a vectorised read; and the seconds that it took on
 * the host.
 */
export interface RecordedRead {
  readonly text?: string;
  readonly vector?: { readonly read: VectorRead<unknown, unknown>; readonly key: unknown };
  seconds?: number;
}

/**
 * In place of a read with standard input, which nobody can repeat without that: its output is
 * never the same.
 */
const unrepeatable = 'cat /proc/sys/kernel/random/uuid';

/** A batch that also keeps each read. */
export function recorded(batch: Batch, reads: Set<RecordedRead>): Batch {
  return {
    async run(command) {
      const one: RecordedRead = { text: command.stdin ? unrepeatable : command.text };
      reads.add(one);
      const output = await batch.run(command);
      one.seconds = output.seconds;
      return output;
    },
    async ask(read, key) {
      const one: RecordedRead = { vector: { read: read as VectorRead<unknown, unknown>, key } };
      reads.add(one);
      return batch.ask(read, key, (seconds) => {
        one.seconds = seconds;
      });
    },
  };
}

/**
 * What shows whether reads would have the same answers: the state of files, and the output of
 * commands.
 */
export interface Repeated {
  readonly paths: readonly string[];
  readonly outputs: readonly string[];
}

/** What to look at again, to know that reads would have the same answers. */
export function repeating(reads: Iterable<RecordedRead>): Repeated {
  const paths = new Set<string>();
  const outputs = new Set<string>();
  const vectors = new Map<string, { read: VectorRead<unknown, unknown>; keys: Map<string, unknown> }>();
  for (const { text, vector } of reads) {
    if (text !== undefined) outputs.add(text);
    if (!vector) continue;
    const { read, key } = vector;
    const path = read.path?.(key);
    if (path !== undefined) {
      paths.add(path);
      continue;
    }
    const group = groupOf(read, key);
    const { keys } = vectors.get(group) ?? { keys: new Map() };
    vectors.set(group, { read, keys: keys.set(read.id(key), key) });
  }
  // One for all keys of a kind.
  for (const { read, keys } of vectors.values())
    outputs.add((read.repeat ?? read.command)([...keys.values()]));
  return { paths: [...paths], outputs: [...outputs] };
}
