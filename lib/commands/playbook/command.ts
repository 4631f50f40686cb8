import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { interruption } from '../../engine/command-line/interrupt.ts';
import { unlockOnTerminal } from '../../engine/command-line/unlock.ts';
import { privateTarget } from '../../engine/file/private-output.ts';
import type { Inventory, InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadOptions } from '../../engine/inventory/load.ts';
import type { VariablesOver } from '../../engine/inventory/outline.ts';
import { selectHosts } from '../../engine/inventory/pattern.ts';
import { paintFor } from '../../engine/output/colour.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { eventLine } from '../../engine/output/event-json.ts';
import type { Style } from '../../engine/output/lines.ts';
import { liveOutput } from '../../engine/output/live/live.ts';
import { plainOutput } from '../../engine/output/plain.ts';
import { askPassword } from '../../engine/output/terminal.ts';
import { type ExitCode, exitCode, exitCodeOfError, Problem } from '../../engine/problem/problem.ts';
import { recordFolder, runRecord } from '../../engine/report/run-record.ts';
import type { Listener } from '../../engine/run/events.ts';
import { exitCodeOf } from '../../engine/run/exit-code.ts';
import { listTasks } from '../../engine/run/list-tasks.ts';
import { thisHolder } from '../../engine/run/lock/lock-holder.ts';
import type { Playbook } from '../../engine/run/playbook.ts';
import { run } from '../../engine/run/run.ts';
import type { RunOptions } from '../../engine/run/run-options.ts';
import { allowedBy, loadPlan, makePlan, refuseStale, type SavedPlan, savePlan } from '../../engine/run/saved-plan.ts';
import type { Session } from '../../engine/run/session.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { printable } from '../../engine/text/printable.ts';
import { shellWord } from '../../engine/text/shell-word.ts';
import { asking, askOnTerminal, confirmEachOn, confirmPlan } from './confirm.ts';
import { playbookHelp } from './help.ts';
import { hostLines, taskLines } from './listing.ts';
import { type Options, parseOptions, parseSet, refuseUnknownRoles, type SetVariable } from './options.ts';

/** How a host is connected to, beside what the inventory says. */
export interface OpenOptions {
  /** Asked of the operator, outranks the inventory's. */
  readonly becomePassword: Secret | undefined;
  readonly interrupt: AbortSignal;
  /** How long it may take to answer. Seconds. */
  readonly timeout: number | undefined;
}

/** What a playbook's command line is run with. */
export interface Dependencies<V> {
  /** Reads and checks an inventory. @throws Problem, Problems */
  load(nameOrFile: string, options: Pick<LoadOptions, 'over' | 'unlock' | 'connects'>): Promise<Inventory<V>>;
  open(host: InventoryHost<V>, options: OpenOptions): Promise<Session>;
  /** The inventory used where none is named. */
  readonly embedded: string;
  /** Called before the embedded inventory is loaded: brings up what it speaks of. */
  prepareEmbedded(say: (line: string) => void): Promise<void>;
}

const say = (line: string) => void process.stderr.write(`${line}\n`);
const print = (line: string) => void process.stdout.write(`${line}\n`);

/**
 * Runs a playbook as its command line says, prints what happens, and sets the process's exit code.
 *
 * @param args what follows the script's name
 */
export async function main<V>(playbook: Playbook<V>, args: readonly string[], around: Dependencies<V>): Promise<void> {
  outliveOutput();
  const verbose = args.includes('--verbose') || args.includes('-v');
  try {
    process.exitCode = await perform(playbook, args, around);
  } catch (error) {
    say(describeError(error, verbose));
    process.exitCode = exitCodeOfError(error);
  }
}

async function perform<V>(playbook: Playbook<V>, args: readonly string[], around: Dependencies<V>): Promise<ExitCode> {
  const roleNames = [...new Set(playbook.plays.flatMap((play) => play.roles.map((role) => role.name)))];
  const said = parseOptions(args, roleNames);
  const plan = said.plan === undefined ? undefined : await loadPlan(said.plan);
  const options = plan ? asPlanned(said, plan, playbook.name, roleNames) : said;
  if (options.help) {
    process.stdout.write(playbookHelp(playbook, roleNames));
    return exitCode.converged;
  }
  const terminal = process.stdin.isTTY && process.stderr.isTTY;
  if (options.step && !terminal)
    throw new Problem('--step asks before each change, and there is no terminal to ask on');

  // Before anything is started: what comes of a run must not be lost for want of a place.
  for (const file of [options.out, options.report]) if (file !== undefined) privateTarget(file);
  const { inventory, hosts } = await chooseHosts(
    options,
    plan?.hosts.map(({ host }) => host),
    around,
  );
  if (options.listHosts) {
    for (const line of hostLines(hosts)) print(line);
    return exitCode.converged;
  }
  const becomePassword = options.askBecomePass ? new Secret(await askPassword('sudo password: ')) : undefined;
  const { signal, release, interrupt } = interruption();
  const open = (host: InventoryHost<V>) =>
    around.open(host, { becomePassword, interrupt: signal, timeout: options.timeout });
  const chosen = {
    forks: options.step ? 1 : options.forks,
    hosts: new Set(hosts.map((host) => host.name)),
    selects: selection(options),
  };
  const style: Style = {
    paint: paintFor(process.stdout, options.color),
    verbose: options.verbose,
    quiet: options.quiet,
    diff: options.diff,
    check: options.check,
    hostWidth: Math.max(4, ...hosts.map((host) => host.name.length)),
  };
  const record = runRecord({ folder: recordFolder, inventory: inventory.name });
  const shown = output(options, style);
  try {
    if (options.listTasks) {
      const tasks = await listTasks(playbook, inventory, open, chosen);
      for (const line of taskLines(tasks)) print(line);
      return tasks.some((host) => 'error' in host) ? exitCode.unreachable : exitCode.converged;
    }
    const ask = askOnTerminal(interrupt);
    const asks = !options.check && !options.yes && !options.json && !plan && terminal;
    const { confirm, show } = asking((plans) => confirmPlan(plans, style, print, ask), shown);
    const questions: Pick<RunOptions, 'confirm' | 'confirmEach'> = options.step
      ? { confirmEach: confirmEachOn(style, print, ask) }
      : asks
        ? { confirm }
        : {};
    const result = await run(
      playbook,
      inventory,
      open,
      {
        ...chosen,
        ...questions,
        ...(plan && { refuseStale: (now) => refuseStale(plan, inventory, now), allows: allowedBy(plan) }),
        check: options.check,
        startAt: options.startAt,
        lock: { holder: thisHolder(playbook.name, inventory.name, Date.now()), breaks: options.breakLock },
        interrupt: signal,
      },
      (event) => {
        record.listener(event);
        show(event);
      },
    );
    if (options.out !== undefined) {
      const unseen = result.hosts.filter(({ unreachable, stopped }) => unreachable || stopped).map(({ host }) => host);
      if (result.interrupted || unseen.length > 0) {
        const why = result.interrupted ? 'interrupted' : `${unseen.join(', ')} could not be looked at`;
        say(`no plan was saved: ${why}`);
        return exitCodeOf(result);
      }
      const origin = { playbook: playbook.name, inventory, chosen: narrowing(options) };
      savePlan(makePlan(result.plans, origin, Date.now()), options.out);
      say(
        `the plan is in ${printable(options.out)}; to follow it: npx zx playbooks/${playbook.name}.mjs --plan ${printable(shellWord(options.out))}`,
      );
    }
    if (result.declined && !options.step) say('nothing was changed');
    return exitCodeOf(result);
  } finally {
    release();
    if (options.report !== undefined && record.path) await report(record.path, options.report);
  }
}

/** How a run ended outweighs that its report cannot be written. */
async function report(record: string, file: string): Promise<void> {
  try {
    // Loaded only where it is asked for: a run does not wait for it.
    const { writeReport } = await import('../../engine/report/write-report.ts');
    writeReport(record, file);
    say(`the report is in ${file}`);
  } catch (error) {
    say(describeError(error));
  }
}

/** An unknown host is told before the embedded inventory is brought up, where that can be told without it. */
async function chooseHosts<V>(options: Options, planned: readonly string[] | undefined, around: Dependencies<V>) {
  const name = options.inventory ?? around.embedded;
  const over = options.set.map(variableOver);
  const unlock = unlockOnTerminal(options.identity);
  const load = async () => {
    const inventory = await around.load(name, { over, unlock, connects: !options.listHosts });
    if (planned) return { inventory, hosts: planned.map((host) => namedHost(inventory, host)) };
    const hosts = options.limit === undefined ? inventory.hosts : selectHosts(inventory, options.limit);
    return { inventory, hosts };
  };
  if (options.inventory === undefined) say(`no --inventory given: using the embedded ${around.embedded}`);
  if (name !== around.embedded) return load();
  const before = await load().catch((error: unknown) => error);
  // Before it was ever up, files that it makes are missing, and only then several things are wrong.
  if (before instanceof Problem) throw before;
  if (options.listHosts && !(before instanceof Error)) return before as Awaited<ReturnType<typeof load>>;
  await around.prepareEmbedded(say);
  return load();
}

function namedHost<V>(inventory: Inventory<V>, name: string): InventoryHost<V> {
  const host = inventory.hosts.find((each) => each.name === name);
  if (host) return host;
  throw new Problem(`the plan has a host ${name}, which ${inventory.name} has not`, {
    hint: 'make a new plan: --check --out FILE',
  });
}

/** What narrows a run down, as a plan keeps it. */
function narrowing({ roles, skippedRoles, startAt, set }: Options): SavedPlan['chosen'] {
  const chosen = { roles: [...roles], skippedRoles: [...skippedRoles], set: set.map(({ said }) => said) };
  return startAt === undefined ? chosen : { ...chosen, startAt };
}

/** A plan is followed on its inventory, narrowed down as it was. @throws Problem where it is another playbook's or inventory's */
function asPlanned(said: Options, plan: SavedPlan, playbook: string, roleNames: readonly string[]): Options {
  if (plan.playbook !== playbook) {
    throw new Problem(`this is a plan of the playbook ${plan.playbook}`, {
      hint: `follow it with that one: npx zx playbooks/${plan.playbook}.mjs --plan FILE`,
    });
  }
  const { roles, skippedRoles, startAt, set } = plan.chosen;
  refuseUnknownRoles([...roles, ...skippedRoles], roleNames);
  const inventory = said.inventory ?? plan.inventory.file;
  return { ...said, inventory, roles, skippedRoles, startAt, set: set.map(parseSet) };
}

function variableOver({ path, value }: SetVariable): VariablesOver {
  const values = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  // Without the value: it might be a password in the wrong place.
  return { values: values as Readonly<Record<string, unknown>>, from: `--set ${path.join('.')}` };
}

function selection({ roles, skippedRoles }: Options): (role: string) => boolean {
  return (role) => (roles.length === 0 || roles.includes(role)) && !skippedRoles.includes(role);
}

function output(options: Options, style: Style): Listener {
  if (options.json) return (event) => print(eventLine(event, Date.now()));
  return process.stdout.isTTY && !options.step
    ? liveOutput(process.stdout, style)
    : plainOutput((text) => void process.stdout.write(text), style, options.step);
}
