import { type Batch, groupOf, type VectorRead } from './batch.ts';

/** A read that was made, and the seconds that it took on the host: a command, or a key of a vectorised read. */
export interface RecordedRead {
  readonly text?: string;
  readonly vector?: { readonly read: VectorRead<unknown, unknown>; readonly key: unknown };
  seconds?: number;
}

/** A batch that also keeps each read, except those with standard input, which cannot be repeated without it. */
export function recorded(batch: Batch, reads: Set<RecordedRead>): Batch {
  const record = (one: RecordedRead) => {
    reads.add(one);
    return (seconds: number) => {
      one.seconds = seconds;
    };
  };
  return {
    async run(command) {
      const took = command.stdin ? undefined : record({ text: command.text });
      const output = await batch.run(command);
      took?.(output.seconds);
      return output;
    },
    ask: (read, key) => batch.ask(read, key, record({ vector: { read: read as VectorRead<unknown, unknown>, key } })),
  };
}

/** Commands that repeat reads, one for all keys of a kind. */
export function repeating(reads: Iterable<RecordedRead>): string[] {
  const commands = new Set<string>();
  const vectors = new Map<string, { read: VectorRead<unknown, unknown>; keys: Map<string, unknown> }>();
  for (const { text, vector } of reads) {
    if (text !== undefined) commands.add(text);
    if (!vector) continue;
    const { read, key } = vector;
    const group = groupOf(read, key);
    const { keys } = vectors.get(group) ?? { keys: new Map() };
    vectors.set(group, { read, keys: keys.set(read.id(key), key) });
  }
  return [
    ...[...vectors.values()].map(({ read, keys }) => (read.repeat ?? read.command)([...keys.values()])),
    ...commands,
  ];
}
