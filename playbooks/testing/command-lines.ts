import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Words of a shell command up to a pipe, a redirection, a list or a comment. Variables keep their
 * names.
 */
function shellWords(line: string): string[] {
  const words: string[] = [];
  for (const [, single, double, bare] of line.matchAll(/'([^']*)'|"((?:\\.|[^"\\])*)"|((?:\\.|[^\s'"])+)/g)) {
    if (bare !== undefined && /^([|&;#]|\d?[<>])/.test(bare)) break;
    words.push(single ?? double ?? bare?.replace(/;$/, '') ?? '');
    if (bare?.endsWith(';')) break;
  }
  return words;
}

/** Our command lines in a text, without their beginning: `deploy`, `--inventory`, `mainnet`. */
export function ourCommandLines(text: string): string[][] {
  const joined = text.replaceAll(/ ?\\\n\s*/g, ' ');
  const found = joined.matchAll(
    /(?:npx zx (?:\S*\/)?playbooks\/([\w-]+)\.mjs|(?:npx )?rpc-playbooks (?=[a-z]))([^`\n]*)/g,
  );
  return [...found].map(([, playbook, rest = '']) => [...(playbook ? [playbook] : []), ...shellWords(rest)]);
}

/**
 * Why a command line is refused, or undefined. `--help` after it: its options are read, and
 * nothing is done.
 *
 * @param words the command, and its options
 */
export function refusal([command = '', ...words]: readonly string[]): Promise<string | undefined> {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  const args = [...words.slice(0, end), '--help', ...words.slice(end)].filter(
    (word) => word !== '…' && word !== '...',
  );
  // A folder and a plan of the reader.
  for (const option of ['-C', '--plan']) if (args.includes(option)) args.splice(args.indexOf(option), 2);
  return new Promise((resolve) => {
    const script = join(root, 'lib/start/rpc-playbooks.mjs');
    execFile(process.execPath, [script, command, ...args], { cwd: root }, (error, _, stderr) =>
      resolve(error ? `${[command, ...words].join(' ')}: ${stderr}` : undefined),
    );
  });
}

/** A command line without the names of a reader's own, which are accepted alike. */
function shape(words: readonly string[]): string {
  const named = /^(-i|--inventory|-l|--limit)$/;
  return JSON.stringify(words.map((word, at) => (named.test(words[at - 1] ?? '') ? '*' : word)));
}

/**
 * What is wrong with the command lines of a text: empty where all are accepted. Of those that differ
 * only in an inventory or a limit, one is started.
 */
export async function refusalsIn(lines: readonly (readonly string[])[]): Promise<string[]> {
  const unique = [...new Map(lines.map((words) => [shape(words), words])).values()];
  const refused: string[] = [];
  while (unique.length > 0) {
    for (const why of await Promise.all(unique.splice(0, 4).map(refusal)))
      if (why !== undefined) refused.push(why);
  }
  return refused;
}
