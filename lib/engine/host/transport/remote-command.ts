import type { Become } from './become.ts';

/**
 * A script of so many bytes is read in some milliseconds by `read`, which takes one byte at a
 * time.
 */
const quicklyRead = 20_000;

/**
 * The last line of a script. A lost connection looks like the end of standard input, and half of a
 * script must not run.
 */
const end = '#end of script';

const runWhole = `case "$__s" in *"${end}")eval "$__s";;*)exit 127;;esac`;

/**
 * How the shell takes the script from its standard input. `read` takes no byte beyond its line,
 * which is in base64.
 */
const ways = {
  /**
   * The script, and no standard input of its own. A host without base64 is refused at once, not at
   * its first change.
   */
  alone: `command -v base64 >/dev/null||{ echo "base64 is not found" >&2;exit 127;};__s="$(cat)"||exit 127;exec </dev/null;${runWhole}`,
  /** A line with the script, then its own standard input. */
  scriptFirst: `IFS= read -r __s||exit 127;__s="$(printf %s "$__s"|base64 -d)"||exit 127;${runWhole}`,
  /** A line with its own standard input, then the script. */
  inputFirst: `IFS= read -r __i||exit 127;__s="$(cat)"||exit 127;printf %s "$__i"|base64 -d|{ unset __i;${runWhole};}`,
};

/**
 * A command line that runs a script in sh, in any login shell: nothing between its single quotes
 * is special in fish or csh. Every process list of the host shows a command line, so it is the
 * same for all scripts: they travel on standard input.
 *
 * @param stdin the script's standard input
 * @returns the command line, and its standard input
 */
export function remoteCommand(script: string, { prefix, password }: Become, stdin: Buffer | undefined) {
  const text = Buffer.from(`${script}\n${end}`);
  const way = wayFor(text, stdin);
  const parts: Record<typeof way, readonly (string | Buffer)[]> = {
    alone: [text],
    scriptFirst: [`${text.toString('base64')}\n`, stdin ?? ''],
    inputFirst: [`${stdin?.toString('base64')}\n`, text],
  };
  // sudo reads the password first.
  const all = [password ? `${password.reveal()}\n` : '', ...parts[way]];
  return {
    command: `${prefix}sh -c '${ways[way]}'`,
    input: Buffer.concat(all.map((part) => Buffer.from(part))),
  };
}

/** The shorter of the two is read byte by byte. */
function wayFor(text: Buffer, stdin: Buffer | undefined): keyof typeof ways {
  if (stdin === undefined) return 'alone';
  return text.length <= quicklyRead || text.length <= stdin.length ? 'scriptFirst' : 'inputFirst';
}
