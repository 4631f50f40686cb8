import { parseJson } from '../../text/parse-json.ts';

/**
 * How Go's runtime begins the report of a panic or of a fault, a line without level and time of
 * its own.
 */
export const goRuntime = '(panic|fatal error|runtime): ';

/** What the kernel and the loader say of a program that cannot run here, in their own words. */
export const cannotRun = "(exec |[^ {]+: ).*(exec format error|GLIBC_[0-9.]+' not found)";

/** A line of a log. */
export interface LogLine {
  /** In small letters: `fatal`, also for a panic; empty where the line has none. */
  readonly level: string;
  /** The text without time, place in the source, callers and fields. */
  readonly message: string;
}

/**
 * Reads a line of the log of a node or a prover.
 *
 * @param line JSON with `level` and `msg`, columns with a level in capital letters, the report of
 * a panic, or any text
 */
export function readLogLine(line: string): LogLine {
  if (new RegExp(`^(${goRuntime}|${cannotRun})`).test(line)) return { level: 'fatal', message: line };
  const { level, msg } = Object(parseJson(line)) as { level?: unknown; msg?: unknown };
  if (typeof level === 'string' && typeof msg === 'string')
    return { level: rank(level), message: words(msg) };
  // A text with quotes or line breaks in it, put into JSON unchanged.
  const [, named, text] = /^\{"level":"(\w+)".*?"msg":"(.*?)(?:","pid":.*)?$/.exec(line) ?? [];
  if (named !== undefined && text !== undefined) return { level: rank(named), message: words(text) };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours start with one
  const columns = line.replace(/\x1b\[\d+m/g, '').split('\t');
  const at = columns.findIndex((column) => /^(DEBUG|INFO|WARN|ERROR|FATAL|PANIC)$/.test(column));
  if (at === -1) return { level: '', message: line };
  const message = columns.slice(at + 1).filter((column) => !/^(\S+\.go:\d+|\{.*\})$/.test(column));
  return { level: rank(columns[at] ?? ''), message: words(message.join(' ')) };
}

function rank(level: string): string {
  const name = level.toLowerCase();
  return name === 'panic' ? 'fatal' : name;
}

/**
 * The first line of a message. The node logs callers after an error, on lines of their own; its
 * formats without a place for them say so by `%!(EXTRA string=`. Where it formats an error by a
 * verb that only wraps, Go prints the error's parts: `%!w(*url.Error=&{Post URL 0xc0})`.
 */
function words(message: string): string {
  return (message.split('\n')[0] ?? '')
    .replace(/%!\(EXTRA \w+=.*$/, '')
    .replaceAll(/%!\w\(\*?[\w.]+=&?\{(.*?)(?: 0x[0-9a-f]+)*\}\)/g, '$1')
    .trim();
}
