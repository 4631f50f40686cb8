import type { Reader } from '../../engine/host/host.ts';
import { fieldsOf } from '../../engine/text/keys.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { shownAddress } from '../chain/reachable.ts';

/** A halted synchronizer logs that every few seconds, without end. */
const recent = '3m';

/** How Go's runtime begins the report of a panic or of a fault, a line without level and time of its own. */
const goRuntime = '(panic|fatal error|runtime): ';

/**
 * Halts and errors, as JSON (production) or columns (development, where the level has a colour). The node warns only where the trusted
 * sequencer or layer 1 fails.
 */
const relevant = [
  `^[^ ]+ ${goRuntime}`,
  '[Hh]alting (the )?[Ss]ync|fatal error: ',
  '"level":"(error|fatal)"|"level":"warn".*"msg":"[^"]*[Ee]rror',
  '[[:space:]](.\\[[0-9]+m)?((ERROR|FATAL)(.\\[0m)?[[:space:]]|WARN(.\\[0m)?[[:space:]].*[Ee]rror)',
].join('|');

/** The lines of the last minutes that report halts and errors, each with its time, the newest last. */
export async function readLog(host: Reader, container: string): Promise<string[]> {
  const output = await host.$({ timeoutSeconds: 15 })`
    docker logs --since ${recent} --timestamps ${container} 2>&1 | grep -E ${relevant} | tail -n 20`;
  return output.lines();
}

/** What the log of a node says of it, in its own words. */
export interface LogState {
  /** Why the synchronizer halted. */
  readonly halted: string | undefined;
  readonly lastError: string | undefined;
  /** Why the node ended the last time, before its present start. */
  readonly ended: string | undefined;
}

/**
 * Reads the log of a node.
 *
 * @param lines as `docker logs --timestamps` prints them: time, then text
 * @param since when the container started, seconds since 1970: older lines say only why it ended
 */
export function logState(lines: readonly string[], since: number): LogState {
  const all = lines.map((line) => {
    const [, time = '', text = ''] = /^(\S+) (.*)$/s.exec(line) ?? [];
    return {
      at: Date.parse(time) / 1000,
      fatal: isFatal(uncoloured(text)),
      text: message(text),
    };
  });
  const texts = all.flatMap(({ at, text }) => (at >= since ? [text] : []));
  // One kind of halt ends after a while, and is logged as such.
  const halting = texts.filter((text) => /halting (the )?sync/i.test(text) && !/\(no blocking\)|just for/i.test(text));
  const cause = texts.findLast((text) => /fatal error: /i.test(text));
  const own = halting.findLast((text) => reasonOf(text) !== '');
  const halted = halting.length === 0 ? undefined : reasonOf(own ?? '') || reasonOf(cause ?? '') || halting.at(-1);
  return { halted, lastError: texts.at(-1), ended: all.findLast(({ fatal }) => fatal)?.text };
}

/** Whether the program ends after this line. */
function isFatal(text: string): boolean {
  return /"level":"(fatal|panic)"|\sFATAL\s/.test(text) || new RegExp(`^${goRuntime}`).test(text);
}

/** `halting the synchronizer: WHY`, `halting sync: fatal error: WHY`, `fatal error: WHY`; some versions log it in two lines. */
function reasonOf(text: string): string {
  return text.replace(/^(.*?halting (the )?sync(hronizer)?\b)?[:\s]*(fatal error: )?/i, '').trim();
}

/** The message of a line, without stacks and other fields. */
function message(line: string): string {
  const { msg } = fieldsOf(parseJson(line));
  if (typeof msg === 'string') return cause(msg);
  // Columns: time, level, source file, message, other fields.
  const columns = uncoloured(line)
    .split('\t')
    .filter((column) => !/^(\d{4}-\S*|[A-Z]+|\S+\.go:\d+|\{.*\})$/.test(column));
  return cause(columns.join(' ') || line);
}

/**
 * The first line of a message. The node logs callers after an error, on lines of their own; its formats without a place for them say so by
 * `%!(EXTRA string=`. Where it formats an error by a verb that only wraps, Go prints the error's parts: `%!w(*url.Error=&{Post URL 0xc0})`.
 * Addresses lose their paths, where providers put a key.
 */
function cause(text: string): string {
  return (text.split('\n')[0] ?? '')
    .replace(/%!\(EXTRA \w+=.*$/, '')
    .replaceAll(/%!\w\(\*?[\w.]+=&?\{(.*?)(?: 0x[0-9a-f]+)*\}\)/g, '$1')
    .replaceAll(/https?:\/\/[^\s"']+/g, (address) => shownAddress(address))
    .trim();
}

function uncoloured(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours start with one
  return text.replace(/\x1b\[\d+m/g, '');
}
