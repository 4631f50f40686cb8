import { GroupedWarnings } from '../../engine/output/grouped-warnings.ts';
import { linesOf, type Style } from '../../engine/output/lines.ts';
import { terminal } from '../../engine/output/terminal.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { ConfirmEach } from '../../engine/run/converge.ts';
import type { Listener, RunEvent } from '../../engine/run/events.ts';
import { changesSomething, commandsOf, type HostPlan, type Planned } from '../../engine/run/plan.ts';
import type { RunOptions } from '../../engine/run/run-options.ts';

/** Asks a question. @returns the answer, trimmed and in lower case; empty on Ctrl-C */
export type Ask = (question: string) => Promise<string>;

/** Asks on the terminal. @param interrupt called on Ctrl-C, which does not raise a signal while the terminal is read */
export function askOnTerminal(interrupt: () => void): Ask {
  return async (question) => {
    try {
      return ((await terminal()?.shown(question)) ?? '').trim().toLowerCase();
    } catch {
      process.stderr.write('\n');
      interrupt();
      return '';
    }
  };
}

/** Shows the plan and asks for confirmation. Anything but a yes is a no. */
export async function confirmPlan(
  plans: readonly HostPlan[],
  style: Style,
  say: (line: string) => void,
  ask: Ask,
): Promise<boolean> {
  const warnings = new GroupedWarnings({ ...style, check: true });
  for (const { tasks } of plans) {
    for (const task of tasks) for (const line of warnings.linesOf(doneEvent(task))) say(line);
  }
  for (const line of warnings.release()) say(line);
  const busy = plans.filter(changesSomething);
  say('');
  for (const { host, tasks } of busy) {
    const count = (outcome: Planned['outcome']) => tasks.filter((task) => task.outcome === outcome).length;
    say(`${host.padEnd(style.hostWidth)}  ${count('pending')} to change, ${count('unknown')} unknown or dependent`);
  }
  return /^y(es)?$/.test(await ask(`make these changes on ${busy.map(({ host }) => host).join(', ')}? [y/N] `));
}

/**
 * Wraps the question about the plan and the output of its run: after a no, the summary has no table of zeros.
 */
export function asking(
  question: NonNullable<RunOptions['confirm']>,
  show: Listener,
): { readonly confirm: NonNullable<RunOptions['confirm']>; readonly show: Listener } {
  let declined = false;
  return {
    async confirm(plans) {
      declined = !(await question(plans));
      return !declined;
    },
    show: (event) => show(declined && event.type === 'run-finished' ? { ...event, hosts: [] } : event),
  };
}

function doneEvent(task: Omit<Planned, 'predicted'>): RunEvent {
  const { step, outcome, differences, note, error } = task;
  return { type: 'resource-done', step, outcome, differences, note, error, commands: commandsOf(task), seconds: 0 };
}

/** Asks before each change: yes, no (the host stops there), or all. */
export function confirmEachOn(style: Style, say: (line: string) => void, ask: Ask): ConfirmEach {
  let all = false;
  return async (step, seen) => {
    if (all) return true;
    const { differences, note, change } = seen;
    const steps = change instanceof Problem ? [] : change;
    const task = { step, outcome: 'pending', differences, note, error: undefined, steps } as const;
    for (const line of linesOf(doneEvent(task), { ...style, check: true })) say(line);
    const answer = await ask('change it? [y]es, [N]o and stop here, [a]ll the rest ');
    all = /^a(ll)?$/.test(answer);
    return all || /^y(es)?$/.test(answer);
  };
}
