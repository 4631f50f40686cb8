import { setTimeout as delay } from 'node:timers/promises';
import { Secret } from '../secret/secret.ts';
import type { Connection } from './connection.ts';
import type { FileAttributes, Progress, Writer } from './host.ts';
import { checkPath } from './kinds/path.ts';
import { CommandFailed } from './output.ts';
import { quote } from './quote.ts';
import { createReader, execCommand } from './reader.ts';
import { shell } from './shell.ts';

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
    progress: onProgress,
    async sleep(seconds) {
      // Being interrupted ends the wait; it is no failure.
      await delay(seconds * 1000, undefined, signal ? { signal } : {}).catch(() => {});
    },
  };
}

/**
 * Takes the content from standard input into a temporary file beside the target and renames it. mktemp makes that file 0600, the
 * owner is set before the mode (a change of owner takes set-user-id bits away), and a content that was cut off is not put in
 * place: when a connection dies, the host sees no more than the end of its input. A file that has this content already stays, and
 * gets its attributes: whoever goes by the time of its last change sees none. All in one trip.
 */
function writeScript(path: string, size: number, { mode, owner, group }: FileAttributes): string {
  const cut = path.lastIndexOf('/');
  const directory = path.slice(0, cut) || '/';
  const base = path.slice(cut + 1);
  return `__f=${quote(path)}
__d=${quote(directory)}
__fail(){ printf '%s\\n' "$1" >&2;exit 1;}
[ -d "$__d" ]||__fail "there is no directory $__d"
[ ! -d "$__f" ]||__fail "$__f is a directory, and is not replaced by a file"
[ ! -e "$__f" ]||[ -f "$__f" ]||[ -L "$__f" ]||__fail "$__f is neither file nor link, and is not replaced by a file"
__t=$(mktemp ${quote(`${directory === '/' ? '' : directory}/.${base.slice(0, 200)}.XXXXXX`)})||exit
trap 'rm -f "$__t"' EXIT
trap 'exit 129' HUP INT TERM PIPE
cat >"$__t"||exit
__n=$(wc -c <"$__t")
[ "$__n" -eq ${size} ]||__fail "only $__n of ${size} bytes arrived"
if [ -f "$__f" ]&&[ ! -L "$__f" ]&&cmp -s "$__t" "$__f";then
chown ${quote(`${owner}:${group}`)} "$__f"&&chmod ${mode.toString(8)} "$__f"
exit
fi
chown ${quote(`${owner}:${group}`)} "$__t"||exit
chmod ${mode.toString(8)} "$__t"||exit
sync "$__t" 2>/dev/null
mv -f "$__t" "$__f"||exit
sync "$__d" 2>/dev/null
exit 0`;
}
