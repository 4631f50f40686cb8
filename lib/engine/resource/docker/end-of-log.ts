import { withShownAddresses } from '../network/http.ts';
import { readLogLine } from './log-line.ts';

/** Lines that are shown where nothing in a log says why its program ended. */
const shown = 15;

/**
 * Lines of level info that are shown before the reason: the node names a database in one line, and
 * what it does there in the next.
 */
const shownBefore = 2;

/**
 * What the node says of each metric that one of its parts has registered before: at level info of
 * some, at level warn of others.
 */
const noise = /metric already exists/i;

/**
 * Errors that are shown where none of them is fatal: the first is the reason, and others follow
 * from it.
 */
const shownErrors = 5;

/**
 * Why the program of a container ended, from its log: its newest fatal line or panic, and before
 * it what it was doing, the last lines of level info. Without one, its newest errors, each once.
 * The reason need not be at the end: a program may write much after it.
 *
 * @param log lines of JSON with `level` and `msg`, of columns with a level in capital letters, or
 * of any text
 * @returns the reason, or the end of the log; of addresses only the server, as providers put a key
 * into the path
 */
export function endOfLog(log: string): string {
  return withShownAddresses(reason(log.split('\n')).join('\n'));
}

function reason(log: readonly string[]): readonly string[] {
  const lines = log.map(readLogLine);
  const fatal = lines.findLastIndex(({ level }) => level === 'fatal');
  if (fatal !== -1) {
    const doing = lines
      .slice(0, fatal)
      .filter(({ level, message }) => level === 'info' && !noise.test(message));
    return [...doing.slice(-shownBefore), ...lines.slice(fatal, fatal + 1)].map(({ message }) => message);
  }
  const errors = new Set(lines.flatMap(({ level, message }) => (level === 'error' ? [message] : [])));
  return errors.size > 0 ? [...errors].slice(-shownErrors) : log.slice(-shown);
}
