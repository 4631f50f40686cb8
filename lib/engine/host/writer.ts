import { setTimeout as delay } from 'node:timers/promises';
import { Secret } from '../secret/secret.ts';
import type { Connection } from './connection.ts';
import type { Progress, Writer } from './host.ts';
import { CommandFailed } from './output.ts';
import { quote } from './quote.ts';
import { createReader, execCommand } from './reader.ts';
import { checkPath } from './reads/path.ts';
import { readScript, withArguments } from './script.ts';
import { shell } from './shell.ts';

export interface WriterOptions {
  readonly onProgress: (progress: Progress) => void;
  /** Ends a wait early. */
  readonly signal?: AbortSignal | undefined;
}

/** Default time limit of a change, in seconds. */
const changeTimeout = 600;

/** Exit code of a rewrite of a file that has other content now, or is gone, as in write-file.sh. */
const changedMeanwhile = 75;

const writeFile = readScript(new URL('write-file.sh', import.meta.url));

/** A Writer over a connection. Its reads share a batch with those of its Readers. */
export function createWriter(connection: Connection, name: string, { onProgress, signal }: WriterOptions): Writer {
  return {
    ...createReader(connection, name),
    run: shell(async (command, options) => {
      const output = await execCommand(connection, command, options, changeTimeout);
      const allowed = options.allow ?? [0];
      if (output.timedOut || !allowed.includes(output.exitCode)) throw new CommandFailed(command, output);
      return output;
    }),
    async write(path, content, { mode, owner, group }) {
      const stdin = Buffer.from(content instanceof Secret ? content.reveal() : content);
      const words = ['write', checkPath(path), stdin.length, mode.toString(8), `${owner}:${group}`];
      const output = await execCommand(connection, withArguments(writeFile, words), { stdin }, changeTimeout);
      if (!output.ok) throw new CommandFailed(`write ${quote(path)}`, output);
    },
    async rewrite(path, was, content) {
      const words = ['rewrite', checkPath(path), Buffer.byteLength(content), was];
      const script = withArguments(writeFile, words);
      const output = await execCommand(connection, script, { stdin: content }, changeTimeout);
      if (output.exitCode === changedMeanwhile) return false;
      if (!output.ok) throw new CommandFailed(`rewrite ${quote(path)}`, output);
      return true;
    },
    progress: onProgress,
    async sleep(seconds) {
      // An interrupt ends the wait: it is not a failure.
      await delay(seconds * 1000, undefined, signal ? { signal } : {}).catch(() => {});
    },
  };
}
