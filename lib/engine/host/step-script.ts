import { bytesOf, redact, Secret } from '../secret/secret.ts';
import { quote } from './quote.ts';
import { checkPath } from './reads/path.ts';
import { readScript, withArguments } from './script.ts';
import type { Step } from './step.ts';

/** Default time limit of a step, and of a command of `work`, in seconds. */
export const stepTimeout = 600;

/** write-file.sh exits with this code when the file to rewrite has changed or is gone. */
export const changedMeanwhile = 75;

const names = new URL('folder-names.sh', import.meta.url);
const writeFile = readScript(names, new URL('write-file.sh', import.meta.url));
const makeDirectory = readScript(names, new URL('make-directory.sh', import.meta.url));
const makeLink = readScript(names, new URL('make-link.sh', import.meta.url));
const onlyRoots = readScript(names, new URL('roots-names.sh', import.meta.url));

/** What a host runs for a step. */
interface StepScript {
  readonly text: string;
  readonly stdin: Buffer | undefined;
  /**
   * Whether the standard input holds a secret: then it must not be in the script's text, which
   * every process list shows.
   */
  readonly isSecret: boolean;
  /** Time limit, in seconds. */
  readonly seconds: number;
  /** Exit codes that count as success. */
  readonly allow: readonly number[];
}

/**
 * What a host runs for a step.
 *
 * @throws TypeError for a path that is not absolute, or holds a line break or NUL
 */
export function scriptOf(step: Step): StepScript {
  const defaults = { seconds: stepTimeout, allow: [0] };
  switch (step.do) {
    case 'write': {
      const { mode, owner, group } = step.attributes;
      const input = stdinOf(step.content, step.secret);
      const words = [
        'write',
        checkPath(step.path),
        input.stdin.length,
        mode.toString(8),
        `${owner}:${group}`,
      ];
      return { text: withArguments(writeFile, words), ...input, ...defaults };
    }
    case 'rewrite': {
      const input = stdinOf(step.content, false);
      const words = ['rewrite', checkPath(step.path), input.stdin.length, step.was];
      return { text: withArguments(writeFile, words), ...input, ...defaults };
    }
    case 'directory': {
      const { mode, owner, group } = step.attributes;
      // Five digits: fewer do not clear the set-group-ID bit of a folder.
      const words = [checkPath(step.path), mode.toString(8).padStart(5, '0'), `${owner}:${group}`];
      return { text: withArguments(makeDirectory, words), stdin: undefined, isSecret: false, ...defaults };
    }
    case 'link': {
      const text = withArguments(makeLink, [checkPath(step.path), step.target]);
      return { text, stdin: undefined, isSecret: false, ...defaults };
    }
    case 'run': {
      const { command, stdin, timeoutSeconds: seconds = stepTimeout, allow = [0], rootsFolder } = step;
      const text = rootsFolder === undefined ? command : `${inRootsFolder(rootsFolder)}\n${command}`;
      const input = stdin === undefined ? { stdin, isSecret: false } : stdinOf(stdin, false);
      return { text, ...input, seconds, allow };
    }
  }
}

/**
 * A script that ends with a refusal where another user than root can change a name on the way to a
 * folder, or in it.
 */
export function inRootsFolder(folder: string): string {
  return `(\n${withArguments(onlyRoots, [checkPath(folder)])}) || exit`;
}

/** A command that prints bytes without secrets, which are in its text. */
export function inText(bytes: Buffer): string {
  const text = bytes.toString();
  if (!text.includes('\0') && Buffer.from(text).equals(bytes)) return `printf %s ${quote(text)}`;
  return `printf %s ${quote(bytes.toString('base64'))} | base64 -d`;
}

function stdinOf(content: string | Buffer | Secret, secret: boolean): { stdin: Buffer; isSecret: boolean } {
  const stdin = bytesOf(content);
  const text = stdin.toString();
  return { stdin, isSecret: secret || content instanceof Secret || redact(text) !== text };
}
