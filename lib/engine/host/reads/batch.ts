import { exitCode, Problem } from '../../problem/problem.ts';
import type { Connection } from '../connection.ts';
import type { Output } from '../output.ts';
import { type BatchCommand, batchScript, noRoom } from './batch-script.ts';
import { FramesDoNotFit, readFrames } from './frame.ts';

/**
 * Reads of one kind that become one command on the host.
 *
 * `K` is what is asked about, `V` the answer. Keys that give the same `id` are asked about once.
 */
export interface Kind<K, V> {
  readonly name: string;
  id(key: K): string;
  /** Keys that cannot share a command go apart: one for each different group. */
  group?(key: K): string;
  /** The command for sh, about at least one key. */
  command(keys: readonly K[]): string;
  /** The answers, by `id`; a key without one gets `absent`. @throws when the command itself failed */
  answers(output: Output, keys: readonly K[]): Map<string, V | Error>;
  absent(key: K): V;
}

/** Commands and vectorised reads of one tick, over one exec. */
export interface Batch {
  /** Runs a command that only looks; asked for twice in one tick, it runs once. */
  run(text: string, timeoutSeconds: number): Promise<Output>;
  ask<K, V>(kind: Kind<K, V>, key: K): Promise<V>;
}

interface Waiting extends BatchCommand {
  readonly output: Promise<Output>;
  readonly settle: (output: Output) => void;
  readonly fail: (error: unknown) => void;
}

/** One for each connection, so that reads of everybody who uses it travel together. */
const batches = new WeakMap<Connection, Batch>();

export function batchOf(connection: Connection): Batch {
  const known = batches.get(connection);
  if (known) return known;
  const batch = createBatch(connection);
  batches.set(connection, batch);
  return batch;
}

/** Seconds that a vectorised read may take: as any read. */
export const readTimeout = 60;

function createBatch(connection: Connection): Batch {
  let commands = new Map<string, Waiting>();
  let asked = new Map<string, Asked>();

  const soon = () => {
    if (commands.size + asked.size === 0) setImmediate(flush);
  };

  const add = (text: string, timeoutSeconds: number) => {
    const id = `${timeoutSeconds} ${text}`;
    const waiting = commands.get(id) ?? wait({ text, timeoutSeconds });
    commands.set(id, waiting);
    return waiting.output;
  };

  const flush = () => {
    const reads = asked;
    const plain = commands;
    asked = new Map();
    commands = new Map();
    // The kinds' commands go first: they carry most of the answers, and each of them waits for something else.
    for (const read of reads.values()) read.send(add);
    for (const [id, waiting] of plain) if (!commands.has(id)) commands.set(id, waiting);
    const all = [...commands.values()];
    commands = new Map();
    send(connection, all, 'quick').catch((error: unknown) => {
      for (const waiting of all) waiting.fail(error);
    });
  };

  return {
    run(text, timeoutSeconds) {
      soon();
      return add(text, timeoutSeconds);
    },
    async ask<K, V>(kind: Kind<K, V>, key: K) {
      // First, as it throws for a key that cannot be asked about.
      const id = kind.id(key);
      soon();
      const groupId = `${kind.name} ${kind.group?.(key) ?? ''}`;
      const group = (asked.get(groupId) as AskedOf<K, V> | undefined) ?? gather(kind);
      asked.set(groupId, group);
      return group.ask(id, key);
    },
  };
}

/** Keys of one kind and group, gathered in one tick. */
interface Asked {
  send(run: (text: string, timeoutSeconds: number) => Promise<Output>): void;
}

interface AskedOf<K, V> extends Asked {
  ask(id: string, key: K): Promise<V>;
}

function gather<K, V>(kind: Kind<K, V>): AskedOf<K, V> {
  const keys = new Map<string, K>();
  const { promise, resolve, reject } = withResolvers<Map<string, V | Error>>();
  return {
    async ask(id, key) {
      keys.set(id, key);
      const answers = await promise;
      if (!answers.has(id)) return kind.absent(key);
      const answer = answers.get(id) as V | Error;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    send(run) {
      const all = [...keys.values()];
      run(kind.command(all), readTimeout)
        .then((output) => {
          if (output.timedOut) throw new Error(`${kind.name}: no answer within ${readTimeout} s`);
          return kind.answers(output, all);
        })
        .then(resolve, reject);
    },
  };
}

/** Looking once more changes nothing on the host, so what went wrong for an outer reason is done again with care. */
async function send(connection: Connection, commands: readonly Waiting[], way: 'quick' | 'careful'): Promise<void> {
  const { code, stdout, stderr } = await connection.exec(batchScript(commands, way), {
    answerSeconds: commands.reduce((sum, { timeoutSeconds }) => sum + timeoutSeconds, 0),
  });
  if (code === noRoom && way === 'quick') return send(connection, commands, 'careful');
  if (code === noRoom) {
    throw new Problem(`${connection.name}: ${stderr.toString().trim() || 'no room for temporary files'}`, {
      hint: 'make room on one of these file systems, in memory or on disk: what commands print is kept there for a moment',
      code: exitCode.failed,
    });
  }
  if (code !== 0) {
    throw new Error(
      `${connection.name}: the host could not run a batch of reads (${code}): ${stderr.toString().trim()}`,
    );
  }
  let outputs: (Output | undefined)[];
  try {
    outputs = readFrames(stdout, commands.length);
  } catch (error) {
    // Some command left something running that writes on.
    if (error instanceof FramesDoNotFit && way === 'quick') return send(connection, commands, 'careful');
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${connection.name}: the reply to a batch of reads cannot be taken apart: ${why}`, {
      cause: error,
    });
  }
  for (const [index, waiting] of commands.entries()) {
    const output = outputs[index];
    if (output) waiting.settle(output);
    else waiting.fail(new Error(`${connection.name}: the host did not say how a command ended: ${waiting.text}`));
  }
}

function wait(command: BatchCommand): Waiting {
  const { promise, resolve, reject } = withResolvers<Output>();
  return { ...command, output: promise, settle: resolve, fail: reject };
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (error: unknown) => void } {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  return { promise, resolve, reject };
}
