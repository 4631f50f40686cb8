import type { Reader, Writer } from '../host/host.ts';
import { Output } from '../host/output.ts';
import { shell } from '../host/shell.ts';
import { sha256Of } from '../resource/file/content.ts';
import type { Resource } from '../resource/resource.ts';
import { redact, Secret } from '../secret/secret.ts';

/** Ends a preview: what comes next depends on what was not done. */
class NoFurther extends Error {}

/** Commands of one change that are worth telling. */
const mostCommands = 20;
/** A preview that takes longer is left as far as it got. Milliseconds. */
const patience = 10_000;

/**
 * What applying a resource would run on the host, in order, without running any of it. `apply` itself is followed, with real looks
 * at the host, up to where it depends on what was not done.
 *
 * @returns commands as they would be run, secrets blanked, and the files that would be written
 */
export async function previewOf(resource: Resource, reader: Reader): Promise<string[]> {
  const commands: string[] = [];
  let over = false;
  const tell = (text: string): void => {
    if (over || commands.length >= mostCommands) throw new NoFurther();
    commands.push(redact(text));
  };
  const writer: Writer = {
    ...reader,
    run: shell(async (command, { stdin }) => {
      tell(`${trimmed(command)}${stdin === undefined ? '' : ` < ${inWords(stdin)}`}`);
      return new Output(0, Buffer.alloc(0), '');
    }),
    write: async (path, content, { mode, owner, group }) => {
      const [stat, sha256] = await Promise.all([reader.stat(path), reader.sha256(path)]);
      if (stat?.type === 'directory' || stat?.type === 'other') throw new NoFurther();
      const attributes = `mode 0${mode.toString(8)}, ${owner}:${group}`;
      const isThere = stat?.type === 'file' && sha256 === hashOf(content);
      tell(isThere ? `set ${attributes} of ${path}` : `write ${path} (${inWords(content)}, ${attributes})`);
    },
    rewrite: async (path, _was, content) => {
      tell(`rewrite ${path} (${inWords(content)})`);
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
  // Whatever it throws: without its own changes it cannot come to its end.
  const applied = resource.apply(writer).catch(() => {});
  await Promise.race([applied, limit]);
  over = true;
  return commands;
}

/** Without the indentation that a command has in the source. */
function trimmed(command: string): string {
  const lines = command.replace(/^\n+|\s+$/g, '').split('\n');
  const indent = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => (line.slice(0, indent).trim() === '' ? line.slice(indent) : line)).join('\n');
}

function hashOf(content: string | Buffer | Secret): string {
  return sha256Of(Buffer.from(content instanceof Secret ? content.reveal() : content));
}

function inWords(content: string | Buffer | Secret): string {
  return content instanceof Secret ? '[secret]' : `${Buffer.byteLength(content)} bytes`;
}
