import { setTimeout as sleep } from 'node:timers/promises';
import { endWithOutput } from '../../engine/command-line/closed-pipe.ts';
import { command } from '../../engine/command-line/command.ts';
import { parseCommandLine, wholeNumber } from '../../engine/command-line/command-line.ts';
import type { Session } from '../../engine/host/session.ts';
import { describeError, inOneLine } from '../../engine/output/describe-error.ts';
import { exitCode, Failure, Problem } from '../../engine/problem/problem.ts';
import { serviceNames } from '../../node/variables/services.ts';
import {
  eachHostOptions,
  hostLine,
  onHosts,
  sessionsOf,
  unreachableLines,
  withHosts,
} from '../each-host/each-host.ts';

export const logsOptions = {
  ...eachHostOptions,
  lines: { value: 'N', help: 'begin with the last N lines of each host (default: 20)' },
  follow: { help: 'go on with new lines until Ctrl-C' },
} as const;

/** Between two reads of new lines. Seconds. */
const interval = 2;

export const run = command({
  command: 'npx zx playbooks/logs.mjs',
  usage: `${serviceNames.join('|')} [options]`,
  purpose: 'shows the log of one component on every host that runs it. It is read-only.',
  words: serviceNames,
  options: logsOptions,
  examples: ['json-rpc --inventory mainnet --follow', 'sync --inventory mainnet --lines 200'],
  exits: {
    0: 'shown',
    1: 'no host has the component, or a log cannot be read',
    3: 'bad input',
    4: 'a host is unreachable',
    130: 'interrupted',
  },
  parse: (args) => parseCommandLine(args, logsOptions, serviceNames),
  around() {
    endWithOutput();
    return onHosts();
  },
  work({ given, words: [component] }, around) {
    if (component === undefined) {
      throw new Problem('the name of the component is missing', {
        hint: `one of ${serviceNames.join(', ')}`,
      });
    }
    const lines = wholeNumber('--lines', given.lines, 100_000, 0) ?? 20;
    return withHosts(given, around, async ({ hosts, interrupt }) => {
      for (const host of hosts) if ('error' in host) around.say(unreachableLines(hosts, host).join('\n'));
      const connected = sessionsOf(hosts);
      const shown = await Promise.all(
        connected.map(async ({ name, session }) => {
          const log = logOf(session, component);
          const say = (line: string) => around.say(hostLine(hosts, name, line));
          const unread = (error: unknown) => {
            say(`the log cannot be read: ${inOneLine(describeError(error))}`);
            return 'unread' as const;
          };
          const first = await log(lines).catch(unread);
          if (typeof first === 'string') return first;
          first.forEach(say);
          while (given.follow && !interrupt.aborted) {
            await sleep(interval * 1000, undefined, { signal: interrupt }).catch(() => {});
            if (interrupt.aborted) break;
            const more = await log().catch(unread);
            if (typeof more !== 'string') more.forEach(say);
          }
          return 'shown';
        }),
      );
      if (shown.includes('unread')) return exitCode.failed;
      if (shown.includes('shown') || connected.length === 0) return exitCode.converged;
      throw new Failure(`no host has a container ${component}`, { hint: 'see status.mjs' });
    });
  },
});

/**
 * The log of one container, read piece by piece.
 *
 * @returns reads the lines since the last read, at first a number of them; without such a container
 * the word missing; throws where Docker cannot read it
 */
function logOf({ reader: { $ } }: Session, container: string) {
  /** The time of the last line, as Docker prints it. */
  let last = '';
  return async (tail = 1000): Promise<readonly string[] | 'missing'> => {
    const from = last === '' ? ['--tail', Math.max(tail, 1)] : ['--since', last];
    const output = await $`docker logs --timestamps ${from} ${container} 2>&1`;
    if (!output.ok) {
      const words = output.text().trim().split('\n').at(-1) ?? '';
      // Without Docker, its shell says so.
      if (/No such container|not found/.test(words)) return 'missing';
      throw new Failure(words.replace(/^Error response from daemon: /, ''));
    }
    // Docker's --since includes its time: the same line would come again.
    const fresh = output.lines().filter((line) => timeOf(line) > last);
    last = fresh.map(timeOf).reduce((a, b) => (b > a ? b : a), last);
    return tail === 0 ? [] : fresh.map((line) => line.slice(timeOf(line).length + 1));
  };
}

function timeOf(line: string): string {
  return line.split(' ', 1)[0] ?? '';
}
