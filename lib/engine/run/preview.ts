import type { Reader, Writer } from '../host/host.ts';
import { Output } from '../host/output.ts';
import { shell } from '../host/shell.ts';
import { sha256Of } from '../resource/file/content.ts';
import type { Resource } from '../resource/resource.ts';
import { redact, Secret } from '../secret/secret.ts';

/** Ends a preview: the rest depends on a change that was not made. */
class NoFurther extends Error {}

/** The most commands that are shown for one change. */
const mostCommands = 20;
/** The time limit of a preview, which is then shown as far as it is known. Milliseconds. */
const patience = 10_000;

/**
 * The commands that applying a resource would run, in order. `apply` runs with a writer that only records, and with real reads, up to
 * the point where it depends on a change that was not made.
 *
 * @returns the commands and the files that would be written, secrets redacted
 */
export async function previewOf(resource: Resource, reader: Reader): Promise<string[]> {
  const commands: string[] = [];
  let over = false;
  const record = (text: string): void => {
    if (over || commands.length >= mostCommands) throw new NoFurther();
    commands.push(redact(text));
  };
  const writer: Writer = {
    ...reader,
    run: shell(async (command, { stdin }) => {
      record(`${trimmed(command)}${stdin === undefined ? '' : ` < ${describeContent(stdin)}`}`);
      return new Output(0, Buffer.alloc(0), '');
    }),
    write: async (path, content, { mode, owner, group }) => {
      const [stat, sha256] = await Promise.all([reader.stat(path), reader.sha256(path)]);
      if (stat?.type === 'directory' || stat?.type === 'other') throw new NoFurther();
      const attributes = `mode 0${mode.toString(8)}, ${owner}:${group}`;
      const isThere = stat?.type === 'file' && sha256 === hashOf(content);
      record(isThere ? `set ${attributes} of ${path}` : `write ${path} (${describeContent(content)}, ${attributes})`);
    },
    rewrite: async (path, _was, content) => {
      record(`rewrite ${path} (${describeContent(content)})`);
      return true;
    },
    progress: () => {},
    sleep: async () => {
      throw new NoFurther();
    },
  };
  const limit = new Promise<void>((resolve) => {
    setTimeout(resolve, patience).unref();
  });
  // It cannot finish without its own changes, so any error is expected.
  const applied = resource.apply(writer).catch(() => {});
  await Promise.race([applied, limit]);
  over = true;
  return commands;
}

/** Removes the indentation of the source. */
function trimmed(command: string): string {
  const lines = command.replace(/^\n+|\s+$/g, '').split('\n');
  const indent = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => (line.slice(0, indent).trim() === '' ? line.slice(indent) : line)).join('\n');
}

function hashOf(content: string | Buffer | Secret): string {
  return sha256Of(Buffer.from(content instanceof Secret ? content.reveal() : content));
}

function describeContent(content: string | Buffer | Secret): string {
  return content instanceof Secret ? '[secret]' : `${Buffer.byteLength(content)} bytes`;
}
