import type { Connected } from '../../engine/command-line/connected.ts';
import type { Inventory, InventoryHost } from '../../engine/inventory/inventory.ts';
import { paintFor } from '../../engine/output/colour.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { eventLine } from '../../engine/output/event-json.ts';
import type { Style } from '../../engine/output/lines.ts';
import { liveOutput } from '../../engine/output/live/live.ts';
import { plainOutput } from '../../engine/output/plain.ts';
import { widthOf } from '../../engine/output/wrapped.ts';
import { runRecord } from '../../engine/report/run-record.ts';
import type { Listener } from '../../engine/run/events.ts';
import { thisHolder } from '../../engine/run/lock/lock-holder.ts';
import type { HostPlan } from '../../engine/run/plan.ts';
import type { Playbook } from '../../engine/run/playbook.ts';
import { run } from '../../engine/run/run.ts';
import type { RunOptions, RunResult } from '../../engine/run/run-options.ts';
import { changesOf, makePlan, refuseStale, type SavedPlan, savePlan } from '../../engine/run/saved-plan.ts';
import { asRepeated } from '../../engine/text/as-started.ts';
import { printable } from '../../engine/text/printable.ts';
import { shellWord } from '../../engine/text/shell-word.mjs';
import { recordFolder } from '../../node/project/project-folder.ts';
import { asking, askOnTerminal, confirmEachOn, confirmPlan, refuseUnasked } from './confirm.ts';
import { lastingName, narrowing } from './follow-plan.ts';
import type { Options } from './options.ts';
import type { Open } from './put-back.ts';
import { print, say } from './say.ts';

/** The run that the command line requests. */
export interface Job<V> {
  readonly playbook: Playbook<V>;
  readonly options: Options;
  /** The saved plan that it follows. */
  readonly plan: SavedPlan | undefined;
  readonly inventory: Inventory<V>;
  readonly hosts: readonly InventoryHost<V>[];
  /** Whether questions can be asked. */
  readonly terminal: boolean;
}

/**
 * Runs a playbook as its command line requests: asks, prints the events, and writes record, plan
 * and report.
 */
export async function performRun<V>(
  job: Job<V>,
  open: Open<V>,
  { signal, interrupt }: Pick<Connected, 'signal' | 'interrupt'>,
): Promise<RunResult> {
  const { playbook, options, plan, inventory } = job;
  const style = styleOf(job);
  const record = runRecord({ folder: recordFolder, inventory: inventory.name, check: options.check });
  const { questions, show } = questionsOf(job, style, interrupt);
  try {
    const result = await run(
      playbook,
      inventory,
      open,
      {
        ...narrowed(job),
        ...questions,
        ...(plan && {
          refuseStale: (now) => refuseStale(plan, inventory, now),
          refuses: changesOf(plan, inventory),
        }),
        check: options.check,
        startAt: options.startAt,
        assumedStopped: new Set(options.assumedStopped),
        lock: lockOf(job),
        interrupt: signal,
      },
      (event) => {
        record.listener(event);
        show(event);
      },
    );
    if (options.out !== undefined) savePlanOf(job, result, options.out);
    if (result.declined && !options.step) say('nothing was changed');
    return result;
  } finally {
    if (options.report !== undefined && record.path) await report(record.path, options.report);
  }
}

/** What a run does about locks, and who it says that it is. */
function lockOf<V>({ playbook, inventory, options }: Job<V>): RunOptions['lock'] {
  const holder = thisHolder(playbook.name, inventory.name, Date.now());
  return { holder, breaks: options.breakLock, wait: options.wait };
}

/** The options that narrow a run. */
export function narrowed<V>({
  options,
  hosts,
}: Job<V>): Pick<RunOptions, 'forks' | 'hosts' | 'selects' | 'given'> {
  const { roles, skippedRoles, own } = options;
  return {
    given: own,
    forks: options.step ? 1 : options.forks,
    hosts: new Set(hosts.map((host) => host.name)),
    selects: (role) => (roles.length === 0 || roles.includes(role)) && !skippedRoles.includes(role),
  };
}

function styleOf<V>({ options, hosts }: Job<V>): Style {
  return {
    paint: paintFor(process.stdout, options.color),
    verbose: options.verbose,
    quiet: options.quiet,
    diff: options.diff,
    check: options.check,
    hostWidth: Math.max(4, ...hosts.map((host) => host.name.length)),
    width: () => widthOf(process.stdout),
  };
}

/** The questions that a run asks, and its output around them. */
function questionsOf<V>(
  { playbook, hosts, options, plan, terminal }: Job<V>,
  style: Style,
  interrupt: () => void,
): { readonly questions: Pick<RunOptions, 'confirm' | 'confirmEach'>; readonly show: Listener } {
  const ask = askOnTerminal(interrupt);
  const shown = output(options, style);
  const typed = hosts.filter(({ groups }) => groups.includes(playbook.typed ?? '')).map(({ name }) => name);
  const { confirm, show } = asking((plans) => confirmPlan(plans, style, print, ask, typed), shown);
  if (options.step) return { questions: { confirmEach: confirmEachOn(style, print, ask) }, show };
  if (options.check || options.yes || plan) return { questions: {}, show };
  if (terminal && !options.json) return { questions: { confirm }, show };
  const refuse = (plans: readonly HostPlan[]) => refuseUnasked(plans, typed);
  return { questions: typed.length > 0 ? { confirm: refuse } : {}, show };
}

function savePlanOf<V>({ playbook, options, inventory }: Job<V>, result: RunResult, file: string): void {
  const unchecked = result.hosts
    .filter(({ unreachable, stopped }) => unreachable || stopped)
    .map(({ host }) => host);
  if (result.interrupted || unchecked.length > 0) {
    const why = result.interrupted ? 'interrupted' : `${unchecked.join(', ')} could not be checked`;
    say(`no plan was saved: ${why}`);
    return;
  }
  const origin = {
    playbook: playbook.name,
    inventory: { ...inventory, file: lastingName(options.inventory, inventory.file) },
    chosen: narrowing(options),
  };
  savePlan(makePlan(result.plans, origin, Date.now()), file);
  const command = `npx zx playbooks/${playbook.name}.mjs --plan ${printable(shellWord(file))}`;
  say(`the plan is in ${printable(file)}; to follow it: ${asRepeated(command)}`);
}

/** Writes the report. The result of the run is more important than an error here. */
async function report(record: string, file: string): Promise<void> {
  try {
    // Loaded only when it is asked for.
    const { writeReport } = await import('../../engine/report/write-report.ts');
    writeReport(record, file);
    say(`the report is in ${file}`);
  } catch (error) {
    say(describeError(error));
  }
}

function output(options: Options, style: Style): Listener {
  if (options.json) return (event) => print(eventLine(event, Date.now()));
  return process.stdout.isTTY && !options.step
    ? liveOutput(process.stdout, style)
    : plainOutput((text) => void process.stdout.write(text), style, options.step);
}
