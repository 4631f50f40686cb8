import { helpText } from '../../engine/command-line/command-line.ts';
import type { Playbook } from '../../engine/run/playbook.ts';
import { runOptions } from './options.ts';

/** The exit codes of a run. */
const runExits = {
  0: 'converged; in check mode: nothing to change',
  1: 'a task failed',
  2: 'changes are pending: check mode, or you answered no',
  3: 'bad input, nothing was touched',
  4: 'a host is unreachable',
  5: 'locked by another run',
  130: 'interrupted',
} as const;

/** The help of a playbook. */
export function playbookHelp<V>(playbook: Playbook<V>, roleNames: readonly string[]): string {
  const plays = playbook.plays.map(
    (play) => `  ${play.name} (${play.hosts}): ${play.roles.map((r) => r.name).join(', ')}`,
  );
  const role = roleNames[2] ?? roleNames[0] ?? 'NAME';
  // A part of a rollback or of a rewind is no example, and a schedule has no hosts of an inventory.
  const isNarrowed =
    Object.keys(playbook.options).length === 0 && playbook.plays.some(({ hosts }) => /\brpc\b/.test(hosts));
  const needed = Object.entries(playbook.options).filter(([, option]) => option.required);
  const required = needed.map(([name, { value }]) => `--${name} ${value} `).join('');
  return helpText({
    command: `npx zx playbooks/${playbook.name}.mjs`,
    purpose: playbook.purpose,
    options: { ...playbook.options, ...runOptions },
    examples: [
      `${required}--inventory mainnet --check`,
      `${required}--inventory mainnet`,
      ...(isNarrowed
        ? [
            `--inventory mainnet --role ${role} --limit rpc`,
            "--inventory mainnet --limit 'rpc,!rpc-2' --set verify.attempts=60",
          ]
        : []),
    ],
    exits: runExits,
    more: [['Plays and roles, in order', ...plays].join('\n')],
  });
}
