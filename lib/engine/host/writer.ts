import { setTimeout as delay } from 'node:timers/promises';
import { bytesOf } from '../secret/secret.ts';
import { type Action, describeAction } from './action.ts';
import { changedMeanwhile, scriptOf } from './action-script.ts';
import type { Connection } from './connection.ts';
import type { Progress, Writer } from './host.ts';
import { CommandFailed, Output } from './output.ts';
import { quote } from './quote.ts';
import { createReader } from './reader.ts';
import { shell } from './shell.ts';

export interface WriterOptions {
  readonly onProgress: (progress: Progress) => void;
  /** Ends a wait early. */
  readonly signal?: AbortSignal | undefined;
  /** Taken before each change: a script that the host runs before it, in the same request. */
  readonly first?: (() => string) | undefined;
}

/** A Writer over a connection. Its reads share a batch with those of its Readers. */
export function createWriter(
  connection: Connection,
  name: string,
  { onProgress, signal, first = () => '' }: WriterOptions,
): Writer {
  const send = async (step: Action) => {
    const { text, stdin, seconds } = scriptOf(step);
    const options = { timeoutSeconds: seconds, stdin };
    const { code, stdout, stderr, timedOut } = await connection.exec(first() + text, options);
    return new Output(code, stdout, stderr.toString('utf8'), timedOut);
  };
  return {
    ...createReader(connection, name),
    run: shell(async (command, options) => {
      const output = await send({ do: 'run', command, ...options });
      const allowed = options.allow ?? [0];
      if (output.timedOut || !allowed.includes(output.exitCode)) throw new CommandFailed(command, output);
      return output;
    }),
    async write(path, content, attributes) {
      const output = await send({ do: 'write', path, content: bytesOf(content), secret: true, attributes });
      if (!output.ok) throw new CommandFailed(`write ${quote(path)}`, output);
    },
    async rewrite(path, was, content) {
      const output = await send({ do: 'rewrite', path, was, content });
      if (output.exitCode === changedMeanwhile) return false;
      if (!output.ok) throw new CommandFailed(`rewrite ${quote(path)}`, output);
      return true;
    },
    async make(thing) {
      const output = await send(thing);
      if (!output.ok) throw new CommandFailed(describeAction(thing), output);
    },
    progress: onProgress,
    async sleep(seconds, until) {
      const end = new AbortController();
      until?.then(() => end.abort());
      // An interrupt ends the wait: it is not a failure.
      const either = AbortSignal.any([end.signal, ...(signal ? [signal] : [])]);
      await delay(seconds * 1000, undefined, { signal: either }).catch(() => {});
    },
  };
}
