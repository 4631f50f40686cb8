import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { columns } from '../../engine/output/columns.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import type { HostTasks } from '../../engine/run/list-tasks.ts';
import { printable } from '../../engine/text/printable.ts';

/** One line for each host: name, groups, address. */
export function hostLines(hosts: readonly InventoryHost<unknown>[]): string[] {
  const rows = hosts.map(({ name, groups, connection }) => [name, groups.join(','), connection.address]);
  return columns(rows, 2);
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
