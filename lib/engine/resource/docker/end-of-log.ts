import { withShownAddresses } from '../network/http.ts';
import { readLogLine } from './log-line.ts';

/** Lines that are shown where nothing in a log says why its program ended. */
const shown = 15;

/** Errors that are shown where none of them is fatal: the first is the reason, and others follow from it. */
const shownErrors = 5;

/**
 * Why the program of a container ended, from its log: its newest fatal line or panic, and before it what it was doing, the last line of
 * level info. Without one, its newest errors, each once. The reason need not be at the end: a program may write much after it.
 *
 * @param log lines of JSON with `level` and `msg`, of columns with a level in capital letters, or of any text
 * @returns the reason, or the end of the log; of addresses only the server, as providers put a key into the path
 */
export function endOfLog(log: string): string {
  return withShownAddresses(reason(log.split('\n')).join('\n'));
}

function reason(log: readonly string[]): readonly string[] {
  const lines = log.map(readLogLine);
  const fatal = lines.findLastIndex(({ level }) => level === 'fatal');
  if (fatal !== -1) {
    const doing = lines.slice(0, fatal).findLast(({ level }) => level === 'info');
    return [doing, lines[fatal]].flatMap((line) => (line ? [line.message] : []));
  }
  const errors = new Set(lines.flatMap(({ level, message }) => (level === 'error' ? [message] : [])));
  return errors.size > 0 ? [...errors].slice(-shownErrors) : log.slice(-shown);
}
