import type { Reader } from '../../engine/host/host.ts';
import type { LogSeen } from './status.ts';

/** A halted synchronizer says so every few seconds, for ever. */
const lately = '3m';

/** What is worth reading: what the node says when it halts, and its errors, as JSON (production) or columns (development). */
const worthReading =
  '[Hh]alting (the )?[Ss]ync|fatal error: |"level":"(error|fatal)"|[[:space:]](ERROR|FATAL)[[:space:]]';

/** The log's lines of the last minutes that tell of halts and errors, each with its time, the newest last. */
export async function readLog(host: Reader, container: string): Promise<string[]> {
  const output = await host.$({ timeoutSeconds: 15 })`
    docker logs --since ${lately} --timestamps ${container} 2>&1 | grep -E ${worthReading} | tail -n 20`;
  return output.lines();
}

/**
 * @param lines as `docker logs --timestamps` has them: time, then what the program said
 * @param since when the container started, seconds since 1970: what was said before that holds no more
 */
export function logSeen(lines: readonly string[], since: number): LogSeen {
  const said = lines.flatMap((line) => {
    const [, time = '', text = ''] = /^(\S+) (.*)$/s.exec(line) ?? [];
    return Date.parse(time) / 1000 >= since ? [message(text)] : [];
  });
  // One kind of halt is over after a while, and says so.
  const halting = said.filter((text) => /halting (the )?sync/i.test(text) && !/\(no blocking\)|just for/i.test(text));
  const cause = said.findLast((text) => /fatal error: /i.test(text));
  const own = halting.findLast((text) => reasonOf(text) !== '');
  const halted = halting.length === 0 ? undefined : reasonOf(own ?? '') || reasonOf(cause ?? '') || halting.at(-1);
  return { halted, lastError: said.at(-1) };
}

/** `halting the synchronizer: WHY`, `halting sync: fatal error: WHY`, `fatal error: WHY`; some versions say it in two lines. */
function reasonOf(text: string): string {
  return text.replace(/^(.*?halting (the )?sync(hronizer)?\b)?[:\s]*(fatal error: )?/i, '').trim();
}

/** What a line says without its frame. Stacks and further fields are left out. */
function message(line: string): string {
  try {
    const { msg } = JSON.parse(line) as { msg?: unknown };
    if (typeof msg === 'string') return msg.split('\n')[0] ?? '';
  } catch {
    // Columns: time, level, where in the program, what, further fields.
  }
  const columns = line.split('\t').filter((column) => !/^(\d{4}-\S*|[A-Z]+|\S+\.go:\d+|\{.*\})$/.test(column));
  return columns.join(' ') || line;
}
