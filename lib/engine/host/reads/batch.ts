import { setImmediate as nextTurn } from 'node:timers/promises';
import { Failure } from '../../problem/problem.ts';
import type { Connection } from '../connection.ts';
import type { Output } from '../output.ts';
import { parseBatchReply, ReplySizeMismatch } from './batch-reply.ts';
import { type BatchCommand, batchScript, noRoom } from './batch-script.ts';

/**
 * Reads of one kind that become one command on the host.
 *
 * `K` is a key, such as a path, `V` the answer. Keys with the same `id` are read once.
 */
export interface VectorRead<K, V> {
  readonly name: string;
  /**
   * @throws TypeError for an invalid key
   */
  id(key: K): string;
  /** Keys of different groups do not share a command. */
  group?(key: K): string;
  /** The command for sh, about at least one key. */
  command(keys: readonly K[]): string;
  /**
   * A quicker command, whose output changes with the answers; or the path of the file on whose
   * state the answer depends.
   */
  repeat?(keys: readonly K[]): string;
  path?(key: K): string | undefined;
  /**
   * The answers, by `id`; a key without one gets `absent`.
   *
   * @throws Error when the command itself failed
   */
  answers(output: Output, keys: readonly K[]): Map<string, V | Error>;
  absent(key: K): V;
}

/** Commands and vectorised reads of one tick, over one exec. */
export interface Batch {
  /** Runs a command that only reads. The same command twice in one tick runs once. */
  run(command: BatchCommand): Promise<Output>;
  /**
   * @param took called with the seconds of the command on the host
   */
  ask<K, V>(read: VectorRead<K, V>, key: K, took?: (seconds: number) => void): Promise<V>;
}

/** The name of the keys that share a command with this one. */
export function groupOf<K, V>(read: VectorRead<K, V>, key: K): string {
  return `${read.name} ${read.group?.(key) ?? ''}`;
}

/** Time limit of a vectorised read, as of any read. Seconds. */
export const readTimeout = 60;

/** Reads and commands of all users of a connection share a request. */
export function batchOf(connection: Connection): Batch {
  return batchOver(() => currentTick(connection));
}

function batchOver(tick: () => Tick): Batch {
  return {
    run: (command) => tick().run(command),
    async ask(read, key, took) {
      // First, as it throws for an invalid key.
      const id = read.id(key);
      return tick().ask(read, id, key, took);
    },
  };
}

const ticks = new WeakMap<Connection, Tick>();

function currentTick(connection: Connection): Tick {
  const tick =
    ticks.get(connection) ??
    new Tick(
      connection.name,
      () => ticks.delete(connection),
      (commands) => send(connection, commands, 'quick'),
    );
  ticks.set(connection, tick);
  return tick;
}

/**
 * A batch whose first tick is sent by `first`; later ones are sent as usual.
 *
 * @param first gets the commands of the tick, and returns their outputs
 */
export function batchSentBy(connection: Connection, first: SendAll): Batch {
  let open: Tick | undefined = new Tick(connection.name, () => (open = undefined), first);
  return batchOver(() => open ?? currentTick(connection));
}

/** Sends commands, and returns the output of each. */
type SendAll = (commands: readonly BatchCommand[]) => Promise<Outputs>;

/** Keys that one command answers. */
interface Group<K, V> {
  readonly keys: Map<string, K>;
  readonly answers: Promise<Map<string, V | Error>>;
  /** Of the command. */
  seconds: number;
}

/** Collects the requests of one tick, and sends them at its end. */
class Tick {
  readonly #name: string;
  readonly #commands = new Map<string, BatchCommand>();
  readonly #prepared: (() => BatchCommand)[] = [];
  readonly #groups = new Map<string, unknown>();
  /** By the ids of the commands. */
  readonly #outputs: Promise<Map<string, Output | undefined>>;

  /**
   * @param name of the host
   * @param close called before the requests are sent: later ones belong to another tick
   */
  constructor(name: string, close: () => void, sendAll: SendAll) {
    this.#name = name;
    this.#outputs = nextTurn().then(() => {
      close();
      return this.#send(sendAll);
    });
    // Without a read nobody waits for them.
    this.#outputs.catch(() => {});
  }

  run(command: BatchCommand): Promise<Output> {
    this.#commands.set(idOf(command), command);
    return this.#outputOf(command);
  }

  async ask<K, V>(read: VectorRead<K, V>, id: string, key: K, took?: (seconds: number) => void): Promise<V> {
    const groupId = groupOf(read, key);
    const group = (this.#groups.get(groupId) as Group<K, V> | undefined) ?? this.#openGroup(read);
    this.#groups.set(groupId, group);
    group.keys.set(id, key);
    const answers = await group.answers;
    took?.(group.seconds);
    if (!answers.has(id)) return read.absent(key);
    const answer = answers.get(id) as V | Error;
    if (answer instanceof Error) throw answer;
    return answer;
  }

  async #send(sendAll: SendAll): Promise<Map<string, Output | undefined>> {
    // Vectorised reads go first: they have most of the answers, and each of them waits for
    // something else.
    const commands = [...this.#prepared.map((command) => command()), ...this.#commands.values()];
    const all = new Map(commands.map((one) => [idOf(one), one]));
    const replies = await sendAll([...all.values()]);
    return new Map([...all.keys()].map((id, index) => [id, replies[index]]));
  }

  async #outputOf(command: BatchCommand): Promise<Output> {
    const output = (await this.#outputs).get(idOf(command));
    if (output) return output;
    throw new Error(`${this.#name}: the host did not report how a command ended: ${command.text}`);
  }

  #openGroup<K, V>(read: VectorRead<K, V>): Group<K, V> {
    const keys = new Map<string, K>();
    let command: BatchCommand = { text: '', timeoutSeconds: readTimeout };
    this.#prepared.push(() => {
      command = { text: read.command([...keys.values()]), timeoutSeconds: readTimeout };
      return command;
    });
    const answers = this.#outputs.then(async () => {
      const output = await this.#outputOf(command);
      group.seconds = output.seconds;
      if (output.timedOut) throw new Error(`${read.name}: no answer within ${readTimeout} s`);
      return read.answers(output, [...keys.values()]);
    });
    const group: Group<K, V> = { keys, answers, seconds: 0 };
    return group;
  }
}

function idOf({ text, timeoutSeconds, stdin }: BatchCommand): string {
  return `${timeoutSeconds} ${stdin?.toString('base64') ?? ''} ${text}`;
}

/** The output of each command, in order; undefined where the host could not keep it. */
type Outputs = readonly (Output | undefined)[];

/**
 * Reads change nothing on the host, so a batch that failed as a whole is sent again, in the safer
 * form.
 */
export async function send(
  connection: Connection,
  commands: readonly BatchCommand[],
  way: 'quick' | 'careful',
): Promise<Outputs> {
  const { inputs, text, stdin } = batchScript(commands, way);
  const { code, stdout, stderr } = await connection.exec(inputs + text, {
    stdin: stdin || undefined,
    answerSeconds: commands.reduce((sum, { timeoutSeconds }) => sum + timeoutSeconds, 0),
  });
  const printed = stderr.toString().trim();
  if (code === noRoom && way === 'quick') return send(connection, commands, 'careful');
  if (code === noRoom) {
    throw new Failure(`${connection.name}: ${printed || 'no room for temporary files'}`, {
      hint: 'free some space on one of these file systems, in memory or on disk: output of commands is kept there for a moment',
    });
  }
  if (code !== 0)
    throw new Error(`${connection.name}: the host could not run a batch of reads (${code}): ${printed}`);
  try {
    return parseBatchReply(stdout, commands.length);
  } catch (error) {
    // A command left a process running that still writes.
    if (error instanceof ReplySizeMismatch && way === 'quick') return send(connection, commands, 'careful');
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${connection.name}: the reply to a batch of reads is damaged: ${why}`, { cause: error });
  }
}
