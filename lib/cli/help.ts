import type { Playbook } from '../run/playbook.ts';

/** What `--help` prints. */
export function helpText<V>(playbook: Playbook<V>, roleNames: readonly string[]): string {
  const command = `npx zx playbooks/${playbook.name}.mjs`;
  const plays = playbook.plays.map(
    (play) => `  ${play.name} (${play.hosts}): ${play.roles.map((r) => r.name).join(', ')}`,
  );
  return `${command} ${playbook.purpose}

Options
  -i, --inventory NAME|FILE  inventory/NAME.yaml, or a file; without it the embedded lab
      --check                look only: show what would change, change nothing
  -l, --limit PATTERN        these hosts only: names, groups, globs, a,b  !not  &both  name[1:3]
      --role NAME            this role only (may be repeated)
  -f, --forks N              hosts worked on at once (25)
      --ask-become-pass      ask for the sudo password
  -v, --verbose              show what is ok as well, and stack traces of unexpected errors
  -h, --help                 this text

Examples
  ${command} --inventory mainnet
  ${command} --inventory mainnet --check
  ${command} --inventory mainnet --role ${roleNames[2] ?? roleNames[0] ?? 'NAME'} --limit rpc

Exit codes
  0 converged   1 a task failed   2 changes pending (check mode)   3 bad input
  4 a host is unreachable   130 interrupted

Plays and roles, in order
${plays.join('\n')}
`;
}
