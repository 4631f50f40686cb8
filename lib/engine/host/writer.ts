import { setTimeout as delay } from 'node:timers/promises';
import { Secret } from '../secret/secret.ts';
import type { Connection } from './connection.ts';
import type { Progress, Writer } from './host.ts';
import { CommandFailed } from './output.ts';
import { quote } from './quote.ts';
import { createReader, execCommand } from './reader.ts';
import { checkPath } from './reads/path.ts';
import { shell } from './shell.ts';
import { changedSince, rewriteScript, writeScript } from './write-script.ts';

export interface WriterOptions {
  readonly onProgress: (progress: Progress) => void;
  /** Ends a wait early. */
  readonly signal?: AbortSignal | undefined;
}

/** Seconds that a change may take unless it says otherwise. */
const changeTimeout = 600;

/** A Writer over a connection. Its reads travel as a Reader's do, and together with them. */
export function createWriter(connection: Connection, name: string, { onProgress, signal }: WriterOptions): Writer {
  return {
    ...createReader(connection, name),
    run: shell(async (command, options) => {
      const output = await execCommand(connection, command, options, changeTimeout);
      const allowed = options.allow ?? [0];
      if (output.timedOut || !allowed.includes(output.exitCode)) throw new CommandFailed(command, output);
      return output;
    }),
    async write(path, content, attributes) {
      const bytes = Buffer.from(content instanceof Secret ? content.reveal() : content);
      const script = writeScript(checkPath(path), bytes.length, attributes);
      const output = await execCommand(connection, script, { stdin: bytes }, changeTimeout);
      if (!output.ok) throw new CommandFailed(`write ${quote(path)}`, output);
    },
    async rewrite(path, was, content) {
      const script = rewriteScript(checkPath(path), was, Buffer.byteLength(content));
      const output = await execCommand(connection, script, { stdin: content }, changeTimeout);
      if (output.exitCode === changedSince) return false;
      if (!output.ok) throw new CommandFailed(`rewrite ${quote(path)}`, output);
      return true;
    },
    progress: onProgress,
    async sleep(seconds) {
      // Being interrupted ends the wait; it is no failure.
      await delay(seconds * 1000, undefined, signal ? { signal } : {}).catch(() => {});
    },
  };
}
