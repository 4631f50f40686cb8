import { command } from '../../engine/command-line/command.ts';
import { parseCommandLine, wholeNumber } from '../../engine/command-line/command-line.ts';
import { ConnectionLost } from '../../engine/host/connection-errors.ts';
import type { Output } from '../../engine/host/output.ts';
import type { Session } from '../../engine/host/session.ts';
import { describeError, inOneLine } from '../../engine/output/describe-error.ts';
import { exitCode, Problem } from '../../engine/problem/problem.ts';
import { lockedHost } from '../../engine/run/fleet.ts';
import { mapWithForks } from '../../engine/run/limit.ts';
import { appending, beginLine, endLine } from '../../engine/run/lock/journal.ts';
import { thisHolder } from '../../engine/run/lock/lock-holder.ts';
import { lockHosts } from '../../engine/run/lock/locks.ts';
import type { Around, ReachedHosts } from '../each-host/each-host.ts';
import {
  eachHostOptions,
  hostLine,
  onHosts,
  sessionsOf,
  unreachableLines,
  withHosts,
} from '../each-host/each-host.ts';

export const runCommandOptions = {
  ...eachHostOptions,
  read: { help: 'the command only reads: no lock is taken' },
  change: { help: 'the command may change the host: all hosts are locked first, as for a deploy' },
  'command-timeout': { value: 'SECONDS', help: 'time limit of the command on each host (default: 600)' },
} as const;

/** The result on one host. */
type Done = { readonly name: string } & ({ readonly output: Output } | { readonly error: unknown });

export const run = command({
  command: 'npx zx playbooks/run.mjs',
  usage: '--read|--change [options] -- COMMAND',
  purpose: 'runs a shell command as root on every host, and prints its output host by host.',
  options: runCommandOptions,
  examples: [
    '--inventory mainnet --read -- uptime',
    "--inventory mainnet --limit rpc --read -- 'docker ps | grep Restarting'",
    '--inventory mainnet --change -- apt-get clean',
  ],
  exits: {
    0: 'the command ended with 0 on all hosts',
    1: 'it ended with another code on a host',
    3: 'bad input',
    4: 'a host is unreachable',
    5: 'locked by another run (--change)',
    130: 'interrupted',
  },
  more: ['COMMAND is one word for a shell, in quotes, or a program and its words, each passed on as it is.'],
  parse(args) {
    const split = args.includes('--') ? args.indexOf('--') : args.length;
    return { ...parseCommandLine(args.slice(0, split), runCommandOptions), words: args.slice(split + 1) };
  },
  around: onHosts,
  work({ given, words }, around) {
    // As of a variable of a shell that is not set.
    if (words.every((word) => word.trim() === ''))
      throw new Problem('no command is given', { hint: 'write it last: -- COMMAND' });
    if (given.read === given.change) {
      const what = given.read
        ? '--read and --change do not go together'
        : 'neither --read nor --change is given';
      const hint =
        '--read for a command that only reads, --change for one that may change the host: it takes the locks';
      throw new Problem(what, { hint });
    }
    const timeoutSeconds = wholeNumber('--command-timeout', given['command-timeout'], 86_400) ?? 600;
    return withHosts(given, around, async (reached) => {
      const perform = () => onAll(reached, words, timeoutSeconds);
      const done = await (given.change ? whileLocked(reached, around, words, perform) : perform());
      for (const host of reached.hosts)
        if ('error' in host) around.say(unreachableLines(reached.hosts, host).join('\n'));
      for (const each of done) for (const line of linesOf(each, reached)) around.say(line);
      if (done.some((each) => 'output' in each && !each.output.ok)) return exitCode.failed;
      return done.some((each) => 'error' in each) ? exitCode.unreachable : exitCode.converged;
    });
  },
});

async function onAll(
  { hosts, forks, interrupt }: ReachedHosts,
  words: readonly string[],
  timeoutSeconds: number,
) {
  const done = await mapWithForks(sessionsOf(hosts), forks, async ({ name, session }): Promise<Done[]> => {
    if (interrupt.aborted) return [];
    try {
      return [{ name, output: await start(session, words, timeoutSeconds) }];
    } catch (error) {
      return [{ name, error }];
    }
  });
  return done.flat();
}

/** In a request of its own, so that it waits for no other command. */
function start(session: Session, words: readonly string[], timeoutSeconds: number): Promise<Output> {
  const settings = { timeoutSeconds, stdin: '' };
  const [only] = words;
  // In the shell that runs it anyway: as an argument of another, every process list would show it.
  return words.length === 1 && only !== undefined
    ? session.reader.$(settings)`eval ${only}`
    : session.reader.$(settings)`${words}`;
}

/** The journals of the hosts get the program, without its words: one may be a secret. */
async function whileLocked(
  reached: ReachedHosts,
  around: Around,
  words: readonly string[],
  work: () => Promise<Done[]>,
): Promise<Done[]> {
  const connected = sessionsOf(reached.hosts).map(({ name, session }) => lockedHost(name, session));
  const refused: string[] = [];
  const holder = thisHolder('run', reached.inventory, Date.now());
  let done: Done[] = [];
  const locks = await lockHosts(connected, holder, {
    breaks: false,
    lost: (host) => around.complain(`another run has taken the lock of ${host}`),
    without: (host, why) => void refused.push(`${host}: ${why}`),
  });
  try {
    if (refused.length > 0) {
      throw new Problem(refused.join('; '), {
        code: exitCode.locked,
        hint: 'the command was run on no host',
      });
    }
    const begin = appending(beginLine(holder, [], Date.now()));
    await Promise.all(connected.map(({ writer }) => writer.run`eval ${begin}`));
    done = await work();
    return done;
  } finally {
    await locks.release((name) => {
      const own = done.find((each) => each.name === name);
      const title = `command ${words[0]?.trim().split(/\s/)[0]}`;
      const isOk = own && 'output' in own && own.output.ok;
      const end = isOk ? { changed: [title], failed: [] } : { changed: [], failed: [title] };
      return own && endLine(holder, { ended: isOk ? 'converged' : 'failed', ...end });
    });
  }
}

function linesOf(done: Done, { hosts }: ReachedHosts): string[] {
  const line = (text: string) => hostLine(hosts, done.name, text);
  if ('error' in done) {
    const lost = done.error instanceof ConnectionLost ? 'unreachable' : 'failed';
    return [line(`${lost}: ${inOneLine(describeError(done.error))}`)];
  }
  const { stdout, stderr, exitCode: code, timedOut } = done.output;
  const printed = [stdout, stderr].flatMap((text) =>
    text === '' ? [] : text.replace(/\n$/, '').split('\n'),
  );
  const lines = [...printed];
  if (timedOut) lines.push('took longer than its time limit');
  else if (code !== 0) lines.push(`ended with ${code}`);
  return (lines.length > 0 ? lines : ['ended with 0']).map(line);
}
