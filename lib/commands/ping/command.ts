import { command } from '../../engine/command-line/command.ts';
import { seconds } from '../../engine/output/units.ts';
import { exitCode } from '../../engine/problem/problem.ts';
import { eachHostOptions, hostLine, onHosts, unreachableLines, withHosts } from '../each-host/each-host.ts';

export const pingOptions = eachHostOptions;

export const run = command({
  command: 'npx zx playbooks/ping.mjs',
  purpose: 'logs in to every host, becomes root, and says how long it took. It is read-only.',
  options: pingOptions,
  examples: ['--inventory mainnet', '--inventory mainnet --limit rpc'],
  exits: { 0: 'all hosts answer', 3: 'bad input', 4: 'a host is unreachable', 130: 'interrupted' },
  around: onHosts,
  work: ({ given }, around) =>
    withHosts(given, around, async ({ hosts }) => {
      for (const host of hosts) {
        if ('error' in host) around.say(unreachableLines(hosts, host).join('\n'));
        else {
          const answers = `answers, ${seconds(host.seconds)}, ${host.session.facts.distribution.title}`;
          around.say(hostLine(hosts, host.name, answers));
        }
      }
      return exitCode.converged;
    }),
});
