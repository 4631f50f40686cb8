import { Failure } from '../problem/problem.ts';
import { redact, Secret } from '../secret/secret.ts';
import type { CommandOptions, FileAttributes, Word } from './host.ts';
import { CommandFailed } from './output.ts';
import { commandText } from './shell.ts';

/** A command that changes something. */
interface Run extends RunOptions {
  readonly do: 'run';
  readonly command: string;
}

interface RunOptions extends CommandOptions {
  /**
   * What the operator reads in place of the command if it fails, before its standard error; and
   * what to do.
   */
  readonly failure?: { readonly what: string; readonly hint: string };
  /**
   * The command is refused where another user than root can change a name on the way to this
   * folder, or in it.
   */
  readonly rootsFolder?: string;
}

/**
 * A file with its content and attributes. It is put in place by a temporary name, fsync and
 * rename: a reader sees the old one or the new one. A file with this content already stays, and
 * only gets its attributes. Where another user than root can change names in its folder, the file
 * is always new. It fails where a directory or a device is in its place.
 */
interface Write {
  readonly do: 'write';
  readonly path: string;
  readonly content: string | Buffer;
  /** Whether the content is never shown. */
  readonly secret: boolean;
  readonly attributes: FileAttributes;
  /** Whether the content depends on that of the file, which was not there. */
  readonly merges?: true;
}

/**
 * New content of an existing file, put in place in the same way. Its mode and owner stay; if it is
 * a link that only root can change, its target changes. Where the file has another content by now,
 * or is gone, the check of the change is out of date, and nothing is made.
 */
interface Rewrite {
  readonly do: 'rewrite';
  readonly path: string;
  /** SHA-256, in hex, of the content to replace. */
  readonly was: string;
  readonly content: string;
}

/**
 * A directory with its attributes, and its missing parents. It fails where something else is in
 * its place.
 */
interface Directory {
  readonly do: 'directory';
  readonly path: string;
  readonly attributes: FileAttributes;
}

/** A symbolic link. It takes the place of another one, and of nothing else. */
interface Link {
  readonly do: 'link';
  readonly path: string;
  /** As it is written into the link. */
  readonly target: string;
}

/** One step of a change, as data. */
export type Step = Run | Write | Rewrite | Directory | Link;

type Tag = (pieces: TemplateStringsArray, ...words: readonly Word[]) => Run;

/**
 * The step of a command: `` command`mkdir ${path}` `` or, with settings, `` command({
 * timeoutSeconds: 5 })`…` ``.
 */
export const command = ((first: TemplateStringsArray | RunOptions, ...words: readonly Word[]) => {
  const make =
    (options: RunOptions): Tag =>
    (pieces, ...given) => ({
      do: 'run',
      command: commandText(withoutIndentation(pieces), given),
      ...options,
    });
  return 'raw' in first ? make({})(first, ...words) : make(first);
}) as Tag & ((options: RunOptions) => Tag);

/** The step of a directory, root's and 0755 by default. */
export function makeDirectory(path: string, attributes: Partial<FileAttributes> = {}): Directory {
  return { do: 'directory', path, attributes: { mode: 0o755, owner: 'root', group: 'root', ...attributes } };
}

/** The step of a file without secrets, root's and 0644 by default. */
export function write(
  path: string,
  content: string | Buffer,
  attributes: Partial<FileAttributes> = {},
): Write {
  const all = { mode: 0o644, owner: 'root', group: 'root', ...attributes };
  return { do: 'write', path, content, secret: false, attributes: all };
}

/** The error of a failed step, in its own words if it has some, and with a hint. */
export function ownFailure(step: Step, error: unknown): unknown {
  if (!(error instanceof CommandFailed) || error.output.timedOut) return error;
  if (step.do !== 'run') {
    const hint = hintOfLack(error.output.stderr);
    return hint === undefined ? error : new Failure(error.message, { hint, cause: error });
  }
  const { failure } = step;
  if (!failure) return error;
  const what = redact([failure.what, error.output.stderr.trim()].filter(Boolean).join(': '));
  return new Failure(what, { hint: failure.hint, cause: error });
}

/** What to do where a host lacks the folder, the user or the group of a file. */
function hintOfLack(said: string): string | undefined {
  const folder = /^there is no directory (.+)/m.exec(said)?.[1];
  if (folder !== undefined) return redact(`make it by a task before this one: directory('${folder}')`);
  const account = /^chown: (?:invalid|unknown) (user|group)/m.exec(said)?.[1];
  return account && `make the ${account} by a task before this one: ${account}()`;
}

/** A step as the operator reads it. The content of a file is among the differences. */
export function describeStep(step: Step): string {
  switch (step.do) {
    case 'write': {
      return redact(`write ${step.path} (${sizeOf(step.content)}, ${attributesText(step.attributes)})`);
    }
    case 'directory':
      return redact(`make directory ${step.path} (${attributesText(step.attributes)})`);
    case 'link':
      return redact(`make link ${step.path} -> ${step.target}`);
    case 'rewrite':
      return redact(`rewrite ${step.path} (${sizeOf(step.content)})`);
    case 'run': {
      const { stdin } = step;
      const input = stdin === undefined ? '' : ` < ${stdin instanceof Secret ? '[secret]' : sizeOf(stdin)}`;
      return redact(step.command + input);
    }
  }
}

function attributesText({ mode, owner, group }: FileAttributes): string {
  return `mode 0${mode.toString(8)}, ${owner}:${group}`;
}

function sizeOf(content: string | Buffer): string {
  return `${Buffer.byteLength(content)} bytes`;
}

/** The pieces of a template without the indentation of the source. */
function withoutIndentation(pieces: readonly string[]): string[] {
  const lines = pieces.join('word').split('\n').slice(1);
  const indent = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  const dedented =
    lines.length === 0 ? pieces : pieces.map((piece) => piece.replaceAll(`\n${' '.repeat(indent)}`, '\n'));
  return dedented.map((piece, at) => {
    const started = at === 0 ? piece.replace(/^\n+/, '') : piece;
    return at === pieces.length - 1 ? started.trimEnd() : started;
  });
}
