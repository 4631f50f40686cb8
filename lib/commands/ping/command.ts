import { helpText, parseCommandLine } from '../../engine/command-line/command-line.ts';
import { seconds } from '../../engine/output/units.ts';
import { type ExitCode, exitCode } from '../../engine/problem/problem.ts';
import {
  type Around,
  eachHostOptions,
  hostLine,
  orComplain,
  unreachableLine,
  withHosts,
} from '../each-host/each-host.ts';

export const pingOptions = eachHostOptions;

const help = helpText({
  command: 'npx zx playbooks/ping.mjs',
  purpose: 'logs in to every host, becomes root, and says how long it took. It is read-only.',
  options: pingOptions,
  examples: ['--inventory mainnet', '--inventory mainnet --limit rpc'],
  exits: { 0: 'all hosts answer', 3: 'bad input', 4: 'a host is unreachable', 130: 'interrupted' },
});

/** Runs the command. @param args the words after the script */
export function pingCommand(args: readonly string[], around: Around): Promise<ExitCode> {
  return orComplain(around, async () => {
    const { given } = parseCommandLine(args, pingOptions);
    if (given.help) {
      around.say(help.trimEnd());
      return exitCode.converged;
    }
    return withHosts(given, around, async ({ hosts }) => {
      for (const host of hosts) {
        if ('error' in host) around.say(unreachableLine(hosts, host));
        else
          around.say(
            hostLine(hosts, host.name, `answers, ${seconds(host.seconds)}, ${host.session.facts.distribution.title}`),
          );
      }
      return exitCode.converged;
    });
  });
}
