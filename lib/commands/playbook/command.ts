import { resolve } from 'node:path';
import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { type Connected, connected } from '../../engine/command-line/connected.ts';
import { privateTarget } from '../../engine/file/private-output.ts';
import type { OpenSessionOptions } from '../../engine/host/open-session.ts';
import type { Session } from '../../engine/host/session.ts';
import type { Inventory, InventoryHost } from '../../engine/inventory/inventory.ts';
import type { NamedHost } from '../../engine/inventory/pattern.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { wrappedFor } from '../../engine/output/wrapped.ts';
import { type ExitCode, exitCode, exitCodeOfError, Problem } from '../../engine/problem/problem.ts';
import { reportOutput } from '../../engine/report/report-output.ts';
import { listTasks } from '../../engine/run/list-tasks.ts';
import type { OwnValues, Playbook } from '../../engine/run/playbook.ts';
import { targetsOf } from '../../engine/run/prepare.ts';
import { exitCodeOf } from '../../engine/run/run-options.ts';
import { loadPlan, planOutput, refuseOtherInventory } from '../../engine/run/saved-plan.ts';
import { chooseHosts, type InventorySource } from './choose-hosts.ts';
import { asPlanned } from './follow-plan.ts';
import { playbookHelp } from './help.ts';
import { hostLines, taskLines } from './listing.ts';
import { type Options, parseOptions } from './options.ts';
import { refuseOtherHosts, withOwnHosts } from './own-hosts.ts';
import { type Job, narrowed, performRun } from './perform-run.ts';
import { type Open, type PutBack, withAWayBack } from './put-back.ts';
import { print, say } from './say.ts';

/** Connection options of the command line. */
interface OpenOptions extends OpenSessionOptions {
  /** The playbook's own options. */
  readonly own: OwnValues;
}

/** The dependencies of a playbook's command line. */
export interface Dependencies<V> extends InventorySource<V> {
  open(host: InventoryHost<V>, options: OpenOptions): Promise<Session>;
  /**
   * What puts hosts back that a failed change has left out of service, if the operator wants that.
   */
  putBack?(inventory: Inventory<V>, open: Open<V>): PutBack<V> | undefined;
}

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
  const { options, plan } = await requested(template, args, roleNames);
  if (options.help) {
    process.stdout.write(wrappedFor(playbookHelp(template, roleNames), process.stdout));
    return exitCode.converged;
  }
  const playbook = withOwnHosts(template, options.own);
  const terminal = process.stdin.isTTY && process.stderr.isTTY;
  refuseInVain(options, terminal);
  const planned = plan?.hosts.map(({ host }) => host);
  const refuse = refuseOtherHosts(playbook, options.own);
  const said = plan?.inventory.said;
  const limit = (all: readonly NamedHost[]) => template.limit?.(options.own, all);
  const source = { ...dependencies, refuse, limit, ...(said && { said }) };
  const { inventory, hosts } = await chooseHosts(options, planned, source, say);
  if (plan) refuseOtherInventory(plan, inventory);
  const job = { playbook, options, plan, inventory, hosts, terminal };
  if (!plan) refuseNothing(job);
  if (options.listHosts) {
    for (const line of hostLines(targetsOf(playbook, inventory, { hosts: narrowed(job).hosts }), inventory))
      print(line);
    return exitCode.converged;
  }
  for (const each of inventory.warnings ?? []) say(`warning: ${describeError(each)}`);
  return connected(options.askBecomePass, async ({ becomePassword, ask, signal, interrupt }) => {
    const { timeout, own } = options;
    const open: Open<V> = (host) =>
      dependencies.open(host, { becomePassword, ask, interrupt: signal, timeout, own });
    if (options.listTasks) return printTasks(job, open);
    const result = await performRun(job, open, { signal, interrupt });
    const out = hosts.filter(({ name }) => result.leftOut.includes(name));
    const back = out.length > 0 ? dependencies.putBack?.(inventory, open) : undefined;
    if (back) await putHostsBack(job, back, out, { signal, interrupt });
    return exitCodeOf(result);
  });
}

/**
 * The options of a command line, and the saved plan that they name: it decides those that narrow a
 * run.
 */
async function requested<V>(template: Playbook<V>, args: readonly string[], roleNames: readonly string[]) {
  const parsed = parseOptions(args, roleNames, template.options);
  if (parsed.plan === undefined) return { options: parsed, plan: undefined };
  const plan = await loadPlan(parsed.plan);
  return { options: asPlanned(parsed, plan, template.name, roleNames), plan };
}

/**
 * Checked before the run, so that nothing is lost at its end.
 *
 * @throws Problem where the run could not ask, or could not write its plan or report
 */
function refuseInVain({ step, out, report }: Options, terminal: boolean): void {
  if (step && !terminal)
    throw new Problem('--step asks before each change, and there is no terminal to ask on');
  if (out !== undefined && report !== undefined && resolve(out) === resolve(report))
    throw new Problem(`--out and --report name the same file: ${out}`, { hint: 'give each its own' });
  if (out !== undefined) privateTarget(out, planOutput);
  if (report !== undefined) privateTarget(report, reportOutput);
}

/**
 * A run without a task would end as if all were well.
 *
 * @throws Problem where no host of the run has a role of the run
 */
function refuseNothing<V>(job: Job<V>): void {
  const { playbook, inventory, options } = job;
  const { hosts, selects } = narrowed(job);
  if (targetsOf(playbook, inventory, { hosts, selects }).length > 0) return;
  const { roles, skippedRoles, limit } = options;
  const where = limit === undefined ? `the inventory ${inventory.name}` : `--limit ${limit}`;
  const left = skippedRoles.length > 0 ? 'a role that is left' : `a role of the playbook ${playbook.name}`;
  const all = new Set(inventory.hosts.map(({ name }) => name));
  const others = targetsOf(playbook, inventory, { hosts: all, selects }).map(({ name }) => name);
  throw new Problem(
    `this run has no task: no host of ${where} has ${roles.length > 0 ? `role ${roles.join(', ')}` : left}`,
    {
      hint:
        others.length > 0
          ? `hosts for it: ${others.join(', ')}`
          : '--help shows which groups have which roles',
    },
  );
}

/** Puts back those of the hosts that have a release to go back to. */
async function putHostsBack<V>(
  job: Job<V>,
  back: PutBack<V>,
  out: readonly InventoryHost<V>[],
  stop: Pick<Connected, 'signal' | 'interrupt'>,
): Promise<void> {
  const hosts = await withAWayBack(back, out, say);
  if (hosts.length === 0) return;
  say(`gateway.rollback is auto: ${hosts.map(({ name }) => name).join(', ')} gets its current release back`);
  const whole = {
    roles: [],
    skippedRoles: [],
    startAt: undefined,
    step: false,
    yes: true,
    report: undefined,
  };
  const again = {
    ...job,
    playbook: back.playbook,
    options: { ...job.options, ...whole },
    plan: undefined,
    hosts,
  };
  await performRun(again, back.open, stop);
}

async function printTasks<V>(job: Job<V>, open: Open<V>): Promise<ExitCode> {
  const tasks = await listTasks(job.playbook, job.inventory, open, narrowed(job));
  for (const line of taskLines(tasks)) print(line);
  return tasks.some((host) => 'error' in host) ? exitCode.unreachable : exitCode.converged;
}
