import { fieldsOf } from '../../text/keys.ts';
import { parseJson } from '../../text/parse-json.ts';

/** Lines that are shown where nothing in a log says why its program ended. */
const shown = 15;

/** Errors that are shown where none of them is fatal: the first is the reason, and others follow from it. */
const shownErrors = 5;

interface Line {
  readonly level: string;
  readonly message: string;
}

/**
 * Why the program of a container ended, from its log: its newest fatal line or panic, and before it what it was doing, the last line of
 * level info. Without one, its newest errors, each once. The reason need not be at the end: a program may write much after it.
 *
 * @param log lines of JSON with `level` and `msg`, of columns with a level in capital letters, or of any text
 * @returns the reason, or the end of the log
 */
export function endOfLog(log: string): string {
  const lines = log.split('\n').map(read);
  const fatal = lines.findLastIndex(({ level }) => level === 'fatal');
  if (fatal !== -1) {
    const doing = lines.slice(0, fatal).findLast(({ level }) => level === 'info');
    return [doing, lines[fatal]].flatMap((line) => (line ? [line.message] : [])).join('\n');
  }
  const errors = new Set(lines.flatMap(({ level, message }) => (level === 'error' ? [message] : [])));
  if (errors.size > 0) return [...errors].slice(-shownErrors).join('\n');
  return log.split('\n').slice(-shown).join('\n');
}

function read(line: string): Line {
  // Go's own words for the end of a program.
  if (/^(panic|fatal error): /.test(line)) return { level: 'fatal', message: line };
  const { level, msg } = fieldsOf(parseJson(line));
  if (typeof level === 'string' && typeof msg === 'string') return { level: rank(level), message: first(msg) };
  // A text with quotes or line breaks in it, put into JSON unchanged.
  const [, named, text] = /^\{"level":"(\w+)".*?"msg":"(.*?)(?:","pid":.*)?$/.exec(line) ?? [];
  if (named !== undefined && text !== undefined) return { level: rank(named), message: text };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours start with one
  const columns = line.replace(/\x1b\[\d+m/g, '').split('\t');
  const at = columns.findIndex((column) => /^(DEBUG|INFO|WARN|ERROR|FATAL|PANIC)$/.test(column));
  const message = columns.slice(at + 1).filter((column) => !/^(\S+\.go:\d+|\{.*\})$/.test(column));
  return at === -1 ? { level: '', message: line } : { level: rank(columns[at] ?? ''), message: message.join(' ') };
}

function rank(level: string): string {
  const name = level.toLowerCase();
  return name === 'panic' ? 'fatal' : name;
}

/** The callers after an error are lines of their own. */
function first(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/%!\(EXTRA \w+=.*$/, '').trim();
}
