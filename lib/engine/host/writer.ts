import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from './connection.ts';
import type { Progress, Writer } from './host.ts';
import { CommandFailed, Output } from './output.ts';
import { createReader } from './reader.ts';
import { shell } from './shell.ts';
import { stepTimeout } from './step-script.ts';

export interface WriterOptions {
  readonly onProgress: (progress: Progress) => void;
  /** Ends a wait early. */
  readonly signal?: AbortSignal | undefined;
  /** Taken before each command: a script that the host runs before it, in the same request. */
  readonly first?: (() => string) | undefined;
}

/** A Writer over a connection. Its reads share a batch with those of its Readers. */
export function createWriter(
  connection: Connection,
  name: string,
  { onProgress, signal, first = () => '' }: WriterOptions,
): Writer {
  return {
    ...createReader(connection, name),
    run: shell(async (command, { stdin, timeoutSeconds = stepTimeout, allow = [0] }) => {
      const { code, stdout, stderr, timedOut } = await connection.exec(first() + command, {
        timeoutSeconds,
        stdin,
      });
      const output = new Output(code, stdout, stderr.toString('utf8'), timedOut);
      if (timedOut || !allow.includes(code)) throw new CommandFailed(command, output);
      return output;
    }),
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
