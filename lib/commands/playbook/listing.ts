import type { InventoryHost, SourcedInventory } from '../../engine/inventory/inventory.ts';
import { groupsOf } from '../../engine/inventory/pattern.ts';
import { ownVariableLines } from '../../engine/inventory/sourced-variables.ts';
import { columns } from '../../engine/output/columns.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import type { HostTasks } from '../../engine/run/list-tasks.ts';
import { printable } from '../../engine/text/printable.ts';

/**
 * One line for each host: name, groups, address. Below it, one for each variable that it does not
 * have as all hosts have it, with its source.
 */
export function hostLines<V>(
  hosts: readonly InventoryHost<V>[],
  { sourcesOf }: Pick<SourcedInventory<V>, 'sourcesOf'>,
): string[] {
  const rows = hosts.map((host) => [host.name, groupsOf(host).join(','), host.connection.address]);
  const lines = columns(rows, 2);
  return hosts.flatMap(({ name }, at) => [
    lines[at] ?? '',
    ...ownVariableLines(sourcesOf(name, [])).map((line) => `  ${line}`),
  ]);
}

/** Plays, roles and titles of tasks. Hosts with the same tasks are grouped. */
export function taskLines(tasks: readonly HostTasks[]): string[] {
  const together = new Map<string, string[]>();
  for (const one of tasks) {
    const lines = 'error' in one ? [`  unreachable: ${describeError(one.error)}`] : linesOfSteps(one);
    const key = lines.join('\n');
    together.set(key, [...(together.get(key) ?? []), one.host]);
  }
  return [...together].flatMap(([lines, hosts]) => [hosts.join(', '), ...lines.split('\n')]);
}

function linesOfSteps({ steps }: Extract<HostTasks, { steps: unknown }>): string[] {
  return steps.flatMap(({ play, role, resource }, at) => {
    const before = steps[at - 1];
    return [
      ...(before?.play === play ? [] : [`  play: ${play}`]),
      ...(before?.role === role && before.play === play ? [] : [`    ${role}`]),
      `      ${printable(resource)}`,
    ];
  });
}
