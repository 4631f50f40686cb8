import { GroupedWarnings } from '../../engine/output/grouped-warnings.ts';
import { linesOf, type Style } from '../../engine/output/lines.ts';
import { terminal } from '../../engine/output/terminal.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Listener, RunEvent } from '../../engine/run/events.ts';
import { changesSomething, commandsOf, type HostPlan, type Planned } from '../../engine/run/plan.ts';
import type { ConfirmEach, Confirmed, RunOptions } from '../../engine/run/run-options.ts';
import { printable } from '../../engine/text/printable.ts';

/**
 * Asks a question.
 *
 * @returns the answer, trimmed and in lower case; undefined on Ctrl-C and without a terminal
 */
export type Ask = (question: string) => Promise<string | undefined>;

/**
 * Asks on the terminal.
 *
 * @param interrupt called on Ctrl-C, which does not raise a signal while the terminal is read
 */
export function askOnTerminal(interrupt: () => void): Ask {
  return async (question) => {
    try {
      return (await terminal()?.shown(question))?.trim().toLowerCase();
    } catch {
      process.stderr.write('\n');
      interrupt();
      return undefined;
    }
  };
}

/**
 * Shows the plan and asks for confirmation. Anything but a yes is a no.
 *
 * @param typed hosts whose name has to be typed in place of a yes, where they change
 */
export async function confirmPlan(
  plans: readonly HostPlan[],
  style: Style,
  say: (line: string) => void,
  ask: Ask,
  typed: readonly string[] = [],
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
    say(
      `${host.padEnd(style.hostWidth)}  ${count('pending')} to change, ${count('unknown')} unknown or dependent`,
    );
  }
  const word = wordFor(plans, typed);
  if (word !== undefined) return (await ask(`type ${word} to make these changes: `)) === word.toLowerCase();
  const answer = await ask(`make these changes on ${busy.map(({ host }) => host).join(', ')}? [y/N] `);
  return /^y(es)?$/.test(answer ?? '');
}

/** The name that has to be typed, where such a host changes. */
function wordFor(plans: readonly HostPlan[], typed: readonly string[]): string | undefined {
  return plans.filter(changesSomething).find(({ host }) => typed.includes(host))?.host;
}

/**
 * In place of a question where nobody can be asked.
 *
 * @param typed as of confirmPlan
 * @throws Problem where the name of a host would have to be typed
 */
export async function refuseUnasked(plans: readonly HostPlan[], typed: readonly string[]): Promise<boolean> {
  const word = wordFor(plans, typed);
  if (word === undefined) return true;
  const hint = 'nothing was changed. Look at the plan with --check, then pass --yes';
  throw new Problem(`the name ${word} has to be typed, and there is no terminal to ask on`, { hint });
}

/**
 * Wraps the question about the plan and the output of its run: after a no, the summary has no
 * table of zeros.
 */
export function asking(question: NonNullable<RunOptions['confirm']>, show: Listener) {
  let declined = false;
  const confirm: typeof question = async (plans) => {
    declined = !(await question(plans));
    return !declined;
  };
  const shown: Listener = (event) =>
    show(declined && event.type === 'run-finished' ? { ...event, hosts: [] } : event);
  return { confirm, show: shown };
}

function doneEvent(planned: Omit<Planned, 'predicted'>): RunEvent {
  const { task, outcome, differences, note, error } = planned;
  return {
    type: 'resource-done',
    task,
    outcome,
    differences,
    note,
    error,
    commands: commandsOf(planned),
    seconds: 0,
  };
}

/** The answers to a change, by their words and first letters. */
const answers = { yes: 'change', no: 'skip', all: 'all', quit: 'quit', diff: 'diff' } as const;

/**
 * Asks before each change: yes; no, which skips it and goes on with the next task, as Ansible's
 * --step does; all the rest; quit, which ends the run; diff, which shows all of the change and
 * asks again. Any other answer asks again.
 */
export function confirmEachOn(style: Style, say: (line: string) => void, ask: Ask): ConfirmEach {
  let rest: Confirmed | undefined;
  const show = (planned: Omit<Planned, 'predicted'>, diff: Style['diff']) => {
    for (const line of linesOf(doneEvent(planned), { ...style, check: true, diff })) say(line);
  };
  return async (task, { differences, note, change }) => {
    if (rest) return rest;
    const steps = change instanceof Problem ? [] : change;
    const planned = { task, outcome: 'pending', differences, note, error: undefined, steps } as const;
    show(planned, style.diff);
    for (;;) {
      const said = await ask('change it? [y]es, [n]o: skip it, [a]ll the rest, [q]uit, [d]iff: ');
      const answer = said === undefined ? 'quit' : answerOf(said);
      if (answer === 'change' || answer === 'skip') return answer;
      if (answer === 'all' || answer === 'quit') {
        rest = answer === 'all' ? 'change' : 'quit';
        return rest;
      }
      if (answer === 'diff') show(planned, 'whole');
      else say(`"${printable(said ?? '')}" is not an answer: y, n, a, q or d`);
    }
  };
}

function answerOf(said: string) {
  const [, answer] = Object.entries(answers).find(([word]) => said === word || said === word.charAt(0)) ?? [];
  return answer;
}
