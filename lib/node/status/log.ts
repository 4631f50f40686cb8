import type { Reader } from '../../engine/host/host.ts';
import { cannotRun, goRuntime, readLogLine } from '../../engine/resource/docker/log-line.ts';
import { withShownAddresses } from '../../engine/resource/network/http.ts';

/** How much of a log is read: a halted synchronizer logs that every few seconds, without end. */
export const recentSeconds = 180;

/** How PostgreSQL ends: by its first process, or because of another that cannot repair the data. */
const postgresEnds = '\\[(1\\] FATAL|[0-9]+\\] PANIC): ';

/**
 * Halts and errors, as JSON (production) or columns (development, where the level has a colour).
 * The node warns only where the trusted sequencer or layer 1 fails.
 */
const relevant = [
  `^[^ ]+ (${goRuntime}|${cannotRun})`,
  postgresEnds,
  '[Hh]alting (the )?[Ss]ync|fatal error: ',
  '"level":"(error|fatal)"|"level":"warn".*"msg":"[^"]*[Ee]rror',
  '[[:space:]](.\\[[0-9]+m)?((ERROR|FATAL)(.\\[0m)?[[:space:]]|WARN(.\\[0m)?[[:space:]].*[Ee]rror)',
].join('|');

/**
 * The lines of the last minutes that report halts and errors, each with its time, the newest last.
 */
export async function readLog(host: Reader, container: string): Promise<string[]> {
  const output = await host.$({ timeoutSeconds: 15 })`
    docker logs --since ${`${recentSeconds}s`} --timestamps ${container} 2>&1 | grep -E ${relevant} | tail -n 20`;
  return output.lines();
}

/** What the log of a node says of it, in its own words. */
export interface LogState {
  /** Why the synchronizer halted. */
  readonly halted: string | undefined;
  readonly lastError: string | undefined;
  /** Why the program ended the last time, before its present start. */
  readonly ended: string | undefined;
}

/**
 * Reads the log of a node, or of a database.
 *
 * @param lines as `docker logs --timestamps` prints them: time, then text
 * @param since when the container started, seconds since 1970: older lines say only why it ended
 */
export function logState(lines: readonly string[], since: number): LogState {
  const all = lines.map((line) => {
    const [, time = '', text = ''] = /^(\S+) (.*)$/s.exec(line) ?? [];
    const { level, message } = readLogLine(text);
    const fatal = level === 'fatal' || new RegExp(postgresEnds).test(message);
    // PostgreSQL's own time and process come before.
    const words = fatal ? message.replace(/^.*\] (FATAL|PANIC): +/, '') : message;
    return { at: Date.parse(time) / 1000, fatal, text: withShownAddresses(words) };
  });
  const texts = all.flatMap(({ at, text }) => (at >= since ? [text] : []));
  // One kind of halt ends after a while, and is logged as such.
  const halting = texts.filter(
    (text) => /halting (the )?sync/i.test(text) && !/\(no blocking\)|just for/i.test(text),
  );
  const cause = texts.findLast((text) => /fatal error: /i.test(text));
  const own = halting.findLast((text) => reasonOf(text) !== '');
  const halted =
    halting.length === 0 ? undefined : reasonOf(own ?? '') || reasonOf(cause ?? '') || halting.at(-1);
  return { halted, lastError: texts.at(-1), ended: all.findLast(({ fatal }) => fatal)?.text };
}

/**
 * `halting the synchronizer: WHY`, `halting sync: fatal error: WHY`, `fatal error: WHY`; some
 * versions log it in two lines.
 */
function reasonOf(text: string): string {
  return text.replace(/^(.*?halting (the )?sync(hronizer)?\b)?[:\s]*(fatal error: )?/i, '').trim();
}
