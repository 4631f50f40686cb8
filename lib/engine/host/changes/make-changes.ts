import { randomBytes } from 'node:crypto';
import { Failure } from '../../problem/problem.ts';
import type { Connection } from '../connection.ts';
import type { Reader } from '../host.ts';
import { CommandFailed, Output } from '../output.ts';
import { quote } from '../quote.ts';
import { createReader } from '../reader.ts';
import { batchSentBy, readTimeout, send } from '../reads/batch.ts';
import { parseBatchReply } from '../reads/batch-reply.ts';
import { type BatchCommand, batchScript } from '../reads/batch-script.ts';
import { type RecordedRead, recorded } from '../reads/recorded-read.ts';
import { describeStep, ownFailure, type Step } from '../step.ts';
import { changedMeanwhile, scriptOf } from '../step-script.ts';
import { changesScript, parseChangesEnd, type ReadyChange } from './changes-script.ts';

/**
 * How changes in one request ended: the number of those that were made, and what happened to the
 * next one.
 */
export interface ChangesMade {
  readonly made: number;
  /** Why the next one failed. */
  readonly error?: unknown;
  /**
   * Why the check of the next one is out of date: the change was not made. Without it, and without
   * an error, the run was stopped.
   */
  readonly outdated?: string;
  /** Set if the connection was lost: the changes before are made, and not proved. */
  readonly lost?: true;
}

export interface ChangesOptions {
  /** Called with the number of a change, from 0, before it is made. */
  readonly started?: (change: number) => void;
  /** Aborted to stop before the next change. */
  readonly stop?: AbortSignal | undefined;
  /** A script that the host runs before the changes, in the same request. */
  readonly first?: string;
}

/** Changes that travel as one request, with the reads that prove them. */
export interface ChangesRequest {
  /** Reads of the tick in which the request is made are sent with it, after the changes. */
  readerFor(reads: Set<RecordedRead>): Reader;
  /** Rejected where the connection is lost before any change is known to be made. */
  readonly ended: Promise<ChangesMade>;
}

/**
 * Makes changes in order, up to the first that fails, whose check is out of date, or before which
 * the run is stopped.
 */
export function makeChanges(
  connection: Connection,
  name: string,
  changes: readonly ReadyChange[],
  { started = () => {}, stop, first = '' }: ChangesOptions = {},
): ChangesRequest {
  const nonce = randomBytes(12).toString('hex');
  const { text, stdin } = changesScript(changes, nonce);
  const limit = changes.flatMap(({ steps }) => steps).reduce((sum, step) => sum + scriptOf(step).seconds, 0);
  let settle: (made: ChangesMade | Promise<never>) => void;
  const ended = new Promise<ChangesMade>((resolve) => {
    settle = resolve;
  });
  const sendFirst = async (commands: readonly BatchCommand[]) => {
    const watch = watchLines(connection, nonce, started, stop);
    const isProved = commands.length > 0;
    // Their standard input comes first, as changes after a failed one do not read theirs.
    const reads = isProved ? batchScript(commands, 'quick') : { inputs: '', text: '', stdin: '' };
    try {
      const { stdout, stderr, code } = await connection.exec(
        `${reads.inputs}(\n${first}${text})||exit\n${reads.text}`,
        {
          stdin: reads.stdin + stdin || undefined,
          answerSeconds:
            limit + commands.reduce((sum, { timeoutSeconds }) => sum + timeoutSeconds, readTimeout),
          onOutput: watch.see,
        },
      );
      const parsed = parseChangesEnd(stdout, nonce);
      if (!parsed)
        throw new Error(
          `${name}: the host could not run a script of changes (${code}): ${stderr.toString().trim()}`,
        );
      settle(resultOf(changes, parsed.end, stderr.toString(), nonce));
      return isProved ? await answersTo(connection, commands, code, parsed.rest) : [];
    } catch (error) {
      settle(Promise.reject(error));
      throw error;
    } finally {
      watch.end();
    }
  };
  const batch = batchSentBy(connection, sendFirst);
  return {
    readerFor: (reads: Set<RecordedRead>) => createReader(connection, name, recorded(batch, reads)),
    ended,
  };
}

/** The answers to the reads after the changes. Where they did not come whole, they are asked for again. */
async function answersTo(
  connection: Connection,
  commands: readonly BatchCommand[],
  code: number,
  printed: Buffer,
) {
  try {
    if (code === 0) return parseBatchReply(printed, commands.length);
  } catch {
    // Asked again below.
  }
  return send(connection, commands, 'careful');
}

/** Follows the lines of changes.sh, and makes the file `stop` when the run is interrupted. */
function watchLines(
  connection: Connection,
  nonce: string,
  started: (change: number) => void,
  stop?: AbortSignal,
) {
  let printed = '';
  let folder: string | undefined;
  const tell = () => {
    if (folder !== undefined)
      connection.exec(`[ ! -d ${quote(folder)} ] || : >${quote(`${folder}/stop`)}`).catch(() => {});
  };
  stop?.addEventListener('abort', tell, { once: true });
  return {
    see(chunk: Buffer): void {
      printed += chunk.toString('latin1');
      const lines = printed.split('\n');
      printed = lines.pop() ?? '';
      for (const line of lines) {
        const [own, what, value = ''] = line.split(' ');
        if (own !== nonce) continue;
        if (what === 'in') {
          folder = value;
          if (stop?.aborted) tell();
        } else if (what === 'start') started(Number(value) - 1);
      }
    },
    end: () => stop?.removeEventListener('abort', tell),
  };
}

function resultOf(
  changes: readonly ReadyChange[],
  { change, why, step: number, code }: NonNullable<ReturnType<typeof parseChangesEnd>>['end'],
  stderr: string,
  nonce: string,
): ChangesMade {
  const made = change - 1;
  const step = changes[made]?.steps[number - 1];
  if (why === 'outdated')
    return { made, outdated: 'what the check has read was changed by an earlier change' };
  if (why !== 'failed') return { made };
  if (!step)
    return {
      made,
      error: new Failure(`the host does not say which step failed: ${stderr.trim()}`),
    };
  if (step.do === 'rewrite' && code === changedMeanwhile)
    return { made, outdated: `${step.path} was changed by another program` };
  const late = stderr.endsWith(`${nonce} time limit\n`);
  const said = late ? stderr.slice(0, stderr.lastIndexOf(nonce)) : stderr;
  return {
    made,
    error: ownFailure(step, new CommandFailed(titleOf(step), new Output(code, Buffer.alloc(0), said, late))),
  };
}

function titleOf(step: Step): string {
  if (step.do === 'run') return step.command;
  return step.do === 'write' || step.do === 'rewrite' ? `${step.do} ${quote(step.path)}` : describeStep(step);
}
