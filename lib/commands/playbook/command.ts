import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { interruption } from '../../engine/command-line/interrupt.ts';
import { privateTarget } from '../../engine/file/private-output.ts';
import type { OpenSessionOptions } from '../../engine/host/open-session.ts';
import type { Session } from '../../engine/host/session.ts';
import type { Inventory, InventoryHost } from '../../engine/inventory/inventory.ts';
import { paintFor } from '../../engine/output/colour.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { eventLine } from '../../engine/output/event-json.ts';
import type { Style } from '../../engine/output/lines.ts';
import { liveOutput } from '../../engine/output/live/live.ts';
import { plainOutput } from '../../engine/output/plain.ts';
import { askPassword } from '../../engine/output/terminal.ts';
import { type ExitCode, exitCode, exitCodeOfError, Problem } from '../../engine/problem/problem.ts';
import { runRecord } from '../../engine/report/run-record.ts';
import type { Listener } from '../../engine/run/events.ts';
import { listTasks } from '../../engine/run/list-tasks.ts';
import { thisHolder } from '../../engine/run/lock/lock-holder.ts';
import type { OwnValues, Playbook } from '../../engine/run/playbook.ts';
import { run } from '../../engine/run/run.ts';
import { exitCodeOf, type RunOptions, type RunResult } from '../../engine/run/run-options.ts';
import {
  changesOf,
  loadPlan,
  makePlan,
  refuseOtherInventory,
  refuseStale,
  type SavedPlan,
  savePlan,
} from '../../engine/run/saved-plan.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { printable } from '../../engine/text/printable.ts';
import { shellWord } from '../../engine/text/shell-word.ts';
import { didYouMean } from '../../engine/text/suggest.ts';
import { recordFolder } from '../../node/project/project-folder.ts';
import { chooseHosts, type InventorySource } from './choose-hosts.ts';
import { asking, askOnTerminal, confirmEachOn, confirmPlan } from './confirm.ts';
import { asPlanned, lastingName, narrowing } from './follow-plan.ts';
import { playbookHelp } from './help.ts';
import { hostLines, taskLines } from './listing.ts';
import { type Options, parseOptions } from './options.ts';
import { type Open, type PutBack, withAWayBack } from './put-back.ts';

/** Connection options of the command line. */
interface OpenOptions extends OpenSessionOptions {
  /** The playbook's own options. */
  readonly own: OwnValues;
}

/** The dependencies of a playbook's command line. */
interface Dependencies<V> extends InventorySource<V> {
  open(host: InventoryHost<V>, options: OpenOptions): Promise<Session>;
  /** What puts hosts back that a failed change has left out of service, if the operator wants that. */
  putBack?(inventory: Inventory<V>, open: Open<V>): PutBack<V> | undefined;
}

/** The run that the command line requests. */
interface Job<V> {
  readonly playbook: Playbook<V>;
  readonly options: Options;
  /** The saved plan that it follows. */
  readonly plan: SavedPlan | undefined;
  readonly inventory: Inventory<V>;
  readonly hosts: readonly InventoryHost<V>[];
  /** Whether questions can be asked. */
  readonly terminal: boolean;
}

const say = (line: string) => void process.stderr.write(`${line}\n`);
const print = (line: string) => void process.stdout.write(`${line}\n`);

/**
 * Runs a playbook by its command line, prints its events, and sets the exit code of the process.
 *
 * @param args words after the script
 */
export async function main<V>(playbook: Playbook<V>, args: readonly string[], dependencies: Dependencies<V>) {
  outliveOutput();
  const verbose = args.includes('--verbose') || args.includes('-v');
  try {
    process.exitCode = await perform(playbook, args, dependencies);
  } catch (error) {
    say(describeError(error, verbose));
    process.exitCode = exitCodeOfError(error);
  }
}

async function perform<V>(template: Playbook<V>, args: readonly string[], dependencies: Dependencies<V>) {
  const roleNames = [...new Set(template.plays.flatMap((play) => play.roles.map((role) => role.name)))];
  const parsed = parseOptions(args, roleNames, template.options);
  const limit = parsed.limit ?? (parsed.help ? undefined : template.limit?.(parsed.own));
  const given = { ...parsed, limit };
  const plan = given.plan === undefined ? undefined : await loadPlan(given.plan);
  const options = plan ? asPlanned(given, plan, template.name, roleNames) : given;
  if (options.help) {
    process.stdout.write(playbookHelp(template, roleNames));
    return exitCode.converged;
  }
  const playbook = withHosts(template, options.own);
  const terminal = process.stdin.isTTY && process.stderr.isTTY;
  if (options.step && !terminal)
    throw new Problem('--step asks before each change, and there is no terminal to ask on');
  // Checked before the run, so that its plan or report is not lost at the end.
  for (const file of [options.out, options.report]) if (file !== undefined) privateTarget(file);
  const planned = plan?.hosts.map(({ host }) => host);
  const source = { ...dependencies, refuse: refuseOtherHosts(playbook, options.own) };
  const { inventory, hosts } = await chooseHosts(options, planned, source, say);
  if (plan) refuseOtherInventory(plan, inventory);
  if (options.listHosts) {
    for (const line of hostLines(hosts)) print(line);
    return exitCode.converged;
  }
  const becomePassword = options.askBecomePass ? new Secret(await askPassword('sudo password: ')) : undefined;
  const { signal, release, interrupt } = interruption();
  const open = (host: InventoryHost<V>) =>
    dependencies.open(host, { becomePassword, interrupt: signal, timeout: options.timeout, own: options.own });
  try {
    const job = { playbook, options, plan, inventory, hosts, terminal };
    if (options.listTasks) return await printTasks(job, open);
    const result = await performRun(job, open, signal, interrupt);
    const out = hosts.filter(({ name }) => result.leftOut.includes(name));
    const back = out.length > 0 ? dependencies.putBack?.(inventory, open) : undefined;
    if (back) await putHostsBack(job, back, out, signal, interrupt);
    return exitCodeOf(result);
  } finally {
    release();
  }
}

/** Puts back those of the hosts that have a release to go back to. */
async function putHostsBack<V>(
  job: Job<V>,
  back: PutBack<V>,
  out: readonly InventoryHost<V>[],
  signal: AbortSignal,
  interrupt: () => void,
): Promise<void> {
  const hosts = await withAWayBack(back, out, say);
  if (hosts.length === 0) return;
  say(`gateway.rollback is auto: ${hosts.map(({ name }) => name).join(', ')} gets its current release back`);
  const whole = { roles: [], skippedRoles: [], startAt: undefined, step: false, yes: true, report: undefined };
  const again = { ...job, playbook: back.playbook, options: { ...job.options, ...whole }, plan: undefined, hosts };
  await performRun(again, back.open, signal, interrupt);
}

/** The playbook with the hosts that its own options name. */
function withHosts<V>(template: Playbook<V>, given: Options['own']): Playbook<V> {
  const filled = (hosts: string) => hosts.replace(/\{(\w+)\}/g, (_, name: string) => String(given[name]));
  return { ...template, plays: template.plays.map((play) => ({ ...play, hosts: filled(play.hosts) })) };
}

/** Refuses a host that an own option names and that is not in its group. */
function refuseOtherHosts<V>(
  { options }: Playbook<V>,
  given: Options['own'],
): NonNullable<InventorySource<V>['refuse']> {
  return ({ name, hosts }) => {
    for (const [option, said] of Object.entries(given)) {
      const groups = options[option]?.group?.split(',');
      const known = hosts.flatMap((host) => (groups?.some((group) => host.groups.includes(group)) ? [host.name] : []));
      if (!groups || known.includes(said)) continue;
      const what = `--${option}: ${name} has no host "${said}" in group ${groups.join(' or ')}`;
      throw new Problem(what, { hint: didYouMean(said, known) });
    }
  };
}

async function printTasks<V>(job: Job<V>, open: Open<V>): Promise<ExitCode> {
  const tasks = await listTasks(job.playbook, job.inventory, open, narrowed(job));
  for (const line of taskLines(tasks)) print(line);
  return tasks.some((host) => 'error' in host) ? exitCode.unreachable : exitCode.converged;
}

async function performRun<V>(
  job: Job<V>,
  open: Open<V>,
  signal: AbortSignal,
  interrupt: () => void,
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
        ...(plan && { refuseStale: (now) => refuseStale(plan, inventory, now), refuses: changesOf(plan, inventory) }),
        check: options.check,
        startAt: options.startAt,
        assumedStopped: new Set(options.assumedStopped),
        lock: { holder: thisHolder(playbook.name, inventory.name, Date.now()), breaks: options.breakLock },
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

/** The options that narrow a run. */
function narrowed<V>({ options, hosts }: Job<V>): Pick<RunOptions, 'forks' | 'hosts' | 'selects' | 'given'> {
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
  const asks = !options.check && !options.yes && !options.json && !plan && terminal;
  if (options.step) return { questions: { confirmEach: confirmEachOn(style, print, ask) }, show };
  return { questions: asks ? { confirm } : {}, show };
}

function savePlanOf<V>({ playbook, options, inventory }: Job<V>, result: RunResult, file: string): void {
  const unchecked = result.hosts.filter(({ unreachable, stopped }) => unreachable || stopped).map(({ host }) => host);
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
  say(`the plan is in ${printable(file)}; to follow it: ${command}`);
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
