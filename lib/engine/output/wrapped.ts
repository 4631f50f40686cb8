import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'fast-string-width';

/** The part of a stream that says whether lines are wrapped. */
interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** The width of a terminal in columns; undefined for a pipe or a file. */
export function widthOf({ isTTY, columns }: Screen): number | undefined {
  return isTTY && columns ? columns : undefined;
}

/**
 * Programs whose commands are in messages, as words of a regular expression. A list, because a
 * sentence has options and colons, too.
 */
const programs = [
  ...[
    'npm run',
    'systemctl',
    'journalctl',
    'apt-get',
    'eval(?= ")',
    'age-keygen(?= -)',
    String.raw`openssl \w+(?= -)`,
  ],
  ...['ssh-(?:add|copy-id|keygen|keyscan)', String.raw`ssh (?:-\w|\S+ sudo)`],
  ...['git -C', 'git checkout', String.raw`rm -\w+`, 'mkdir -p', 'chmod', 'chown', 'iptables'],
  'docker (?:buildx|compose|exec|image|info|inspect|logs|network|ps|restart|rm|run|start|stop|volume)',
];

/** What stays on one line, so that it can be copied. */
const whole = [
  // A command of ours: its options and their values, and words that are no sentence.
  String.raw`npx (?:zx|rpc-playbooks) \S+(?: -\S+| [A-Z]+\b|(?<= -\S+) (?:'[^']*'|\S+)| (?:generate|edit|show|rotate|rekey)\b)*`,
  // Another command, up to the end of its clause.
  String.raw`(?:${programs.join('|')}) .*?(?=[;,)](?: |$)| and | or |$)\S?`,
  // A command of a host, as an error has it.
  String.raw`command (?:exited with \d+|took longer than its time limit): .*`,
  // A text in quotes, which are around commands, too; JSON, a map of YAML, a word.
  '`[^`]*`\\S*',
  String.raw`"[^"]*"\S*`,
  String.raw`'[^']*'\S*`,
  String.raw`[{[]["{[].*[}\]]\S*`,
  String.raw`\{[^}]*\}\S*`,
  String.raw`\S+`,
];

/** With the blanks before it, which may be tabs. */
const piece = new RegExp(String.raw`[^\S\n]*(?:${whole.join('|')})`, 'g');

/**
 * Wraps a line at blanks. A piece that is wider than the terminal stays whole: the terminal breaks
 * it, and a copy of it has no line break.
 *
 * @param width in columns; undefined leaves the line as it is
 * @param hang the indent of the further lines. Default: that of the second column of the line, or
 * else four more than its own
 */
export function wrapped(line: string, width: number | undefined, hang = hangOf(line)): string[] {
  if (width === undefined || stringWidth(line) <= width) return [line];
  const indent = ' '.repeat(hang <= width / 2 ? hang : 4);
  const lines: string[] = [];
  let current = '';
  for (const [text] of line.matchAll(piece)) {
    const next = text.trimStart();
    const isTooWide = stringWidth(current + text) > width && stringWidth(indent + next) <= width;
    if (isTooWide && current.trim() !== '') {
      lines.push(current);
      current = indent + next;
    } else current += text;
  }
  // A question ends with a blank, behind which the answer is typed.
  return [...lines, current + line.slice(line.trimEnd().length)];
}

function hangOf(line: string): number {
  const plain = stripVTControlCharacters(line);
  const [own = ''] = /^ */.exec(plain) ?? [];
  const [first] = /^ *\S+(?: \S+)* {2,}(?=\S)/.exec(plain) ?? [];
  return first === undefined ? own.length + 4 : stringWidth(first);
}

/** A text with each line wrapped to the width of a stream, where that is a terminal. */
export function wrappedFor(text: string, screen: Screen): string {
  const width = widthOf(screen);
  return text
    .split('\n')
    .flatMap((line) => wrapped(line, width))
    .join('\n');
}
