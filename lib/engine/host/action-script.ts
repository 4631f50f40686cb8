import { redact, Secret } from '../secret/secret.ts';
import type { Action } from './action.ts';
import { quote } from './quote.ts';
import { checkPath } from './reads/path.ts';
import { readScript, withArguments } from './script.ts';

/** Default time limit of a change, in seconds. */
const changeTimeout = 600;

/** Exit code of a rewrite of a file that has other content now, or is gone, as in write-file.sh. */
export const changedMeanwhile = 75;

const writeFile = readScript(new URL('write-file.sh', import.meta.url));

/** What a host runs for a step. */
interface ActionScript {
  readonly text: string;
  readonly stdin: Buffer | undefined;
  /** Whether the standard input may not be in the text of a script, which every process list shows. */
  readonly isSecret: boolean;
  /** Time limit. */
  readonly seconds: number;
  /** Exit codes that are no failure. */
  readonly allow: readonly number[];
}

/** @throws TypeError for a path that is not absolute */
export function scriptOf(step: Action): ActionScript {
  const rest = { seconds: changeTimeout, allow: [0] };
  switch (step.do) {
    case 'write': {
      const { mode, owner, group } = step.attributes;
      const input = bytesOf(step.content, step.secret);
      const words = ['write', checkPath(step.path), input.stdin.length, mode.toString(8), `${owner}:${group}`];
      return { text: withArguments(writeFile, words), ...input, ...rest };
    }
    case 'rewrite': {
      const input = bytesOf(step.content, false);
      const words = ['rewrite', checkPath(step.path), input.stdin.length, step.was];
      return { text: withArguments(writeFile, words), ...input, ...rest };
    }
    case 'run': {
      const { command: text, stdin, timeoutSeconds: seconds = changeTimeout, allow = [0] } = step;
      const input = stdin === undefined ? { stdin, isSecret: false } : bytesOf(stdin, false);
      return { text, ...input, seconds, allow };
    }
  }
}

/** A command that prints bytes without secrets, which are in its text. */
export function inText(bytes: Buffer): string {
  return `printf %s ${quote(bytes.toString('base64'))} | base64 -d`;
}

function bytesOf(content: string | Buffer | Secret, secret: boolean): { stdin: Buffer; isSecret: boolean } {
  const stdin = Buffer.from(content instanceof Secret ? content.reveal() : content);
  const text = stdin.toString();
  return { stdin, isSecret: secret || content instanceof Secret || redact(text) !== text };
}
