import { Failure } from '../problem/problem.ts';
import { redact, Secret } from '../secret/secret.ts';
import type { CommandOptions, Directory, FileAttributes, Link, Word, Writer } from './host.ts';
import { CommandFailed } from './output.ts';
import { commandText } from './shell.ts';

/** A command that changes something. */
interface Run extends RunOptions {
  readonly do: 'run';
  readonly command: string;
}

interface RunOptions extends CommandOptions {
  /** What the operator reads in place of the command if it fails, before its standard error; and what to do. */
  readonly failure?: { readonly what: string; readonly hint: string };
  /** Systemd reads the files of all units in it. Directly after another such step `$__units_read` is set, and it need not. */
  readonly readsUnits?: true;
  /** The command is refused where another user than root can change a name on the way to this folder, or in it. */
  readonly rootsFolder?: string;
}

/** A file with its content and attributes, as `Writer.write`. */
interface Write {
  readonly do: 'write';
  readonly path: string;
  readonly content: string | Buffer;
  /** Whether the content is never shown. */
  readonly secret: boolean;
  readonly attributes: FileAttributes;
}

/** New content of a file that has the content with this SHA-256, as `Writer.rewrite`. */
interface Rewrite {
  readonly do: 'rewrite';
  readonly path: string;
  readonly was: string;
  readonly content: string;
}

/** One step of a change, as data. */
export type Action = Run | Write | Rewrite | Directory | Link;

type Tag = (pieces: TemplateStringsArray, ...words: readonly Word[]) => Run;

/** The step of a command: `` command`mkdir ${path}` `` or, with settings, `` command({ timeoutSeconds: 5 })`…` ``. */
export const command = ((first: TemplateStringsArray | RunOptions, ...words: readonly Word[]) => {
  const make =
    (options: RunOptions): Tag =>
    (pieces, ...given) => ({ do: 'run', command: commandText(withoutIndentation(pieces), given), ...options });
  return 'raw' in first ? make({})(first, ...words) : make(first);
}) as Tag & ((options: RunOptions) => Tag);

/** The step of a directory, root's and 0755 by default. */
export function makeDirectory(path: string, attributes: Partial<FileAttributes> = {}): Directory {
  return { do: 'directory', path, attributes: { mode: 0o755, owner: 'root', group: 'root', ...attributes } };
}

/** The step of a file without secrets, root's and 0644 by default. */
export function write(path: string, content: string | Buffer, attributes: Partial<FileAttributes> = {}): Write {
  const all = { mode: 0o644, owner: 'root', group: 'root', ...attributes };
  return { do: 'write', path, content, secret: false, attributes: all };
}

/** The host is no longer as the check found it: the step was not made. */
export class OutOfDate extends Error {
  constructor(path: string) {
    super(`${path} was changed by another program`);
    this.name = 'OutOfDate';
  }
}

/**
 * Makes one step.
 *
 * @throws OutOfDate, CommandFailed, Problem with the words of a step that has its own
 */
export async function perform(host: Writer, action: Action): Promise<void> {
  switch (action.do) {
    case 'write':
      return host.write(action.path, action.content, action.attributes);
    case 'rewrite':
      if (!(await host.rewrite(action.path, action.was, action.content))) throw new OutOfDate(action.path);
      return;
    case 'directory':
    case 'link':
      return host.make(action);
    case 'run':
      try {
        await host.run(action)([action.command] as unknown as TemplateStringsArray);
      } catch (error) {
        throw ownFailure(action, error);
      }
  }
}

/** The error of a failed step, in its own words if it has some. */
export function ownFailure(action: Action, error: unknown): unknown {
  const failure = action.do === 'run' ? action.failure : undefined;
  if (!failure || !(error instanceof CommandFailed) || error.output.timedOut) return error;
  const what = redact([failure.what, error.output.stderr.trim()].filter(Boolean).join(': '));
  return new Failure(what, { hint: failure.hint, cause: error });
}

/** A step as the operator reads it. The content of a file is among the differences. */
export function describeAction(action: Action): string {
  switch (action.do) {
    case 'write': {
      return redact(`write ${action.path} (${sizeOf(action.content)}, ${attributesText(action.attributes)})`);
    }
    case 'directory':
      return redact(`make directory ${action.path} (${attributesText(action.attributes)})`);
    case 'link':
      return redact(`make link ${action.path} -> ${action.target}`);
    case 'rewrite':
      return redact(`rewrite ${action.path} (${sizeOf(action.content)})`);
    case 'run': {
      const { stdin } = action;
      const input = stdin === undefined ? '' : ` < ${stdin instanceof Secret ? '[secret]' : sizeOf(stdin)}`;
      return redact(action.command + input);
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
