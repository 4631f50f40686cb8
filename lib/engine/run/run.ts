import { ConnectionLost } from '../host/connection.ts';
import { gatherFacts } from '../host/facts/gather-facts.ts';
import type { Session } from '../host/session.ts';
import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { exitCode, Problem } from '../problem/problem.ts';
import type { EveryHost } from '../resource/resource.ts';
import { changeAll } from './change-all.ts';
import { quitByOperator } from './converge.ts';
import type { HostSummary, Listener } from './events.ts';
import { Fleet, lockedHost, lockLost } from './fleet.ts';
import { endOf } from './host-end.ts';
import { HostRun } from './host-run.ts';
import { mapWithForks } from './limit.ts';
import { appending, beginLine, endLine } from './lock/journal.ts';
import { awaitLocks, type Locks } from './lock/locks.ts';
import type { LockWait } from './lock/wait.ts';
import { changesSomething, commandsOf, type HostPlan, type Planned, planOf } from './plan.ts';
import type { Playbook } from './playbook.ts';
import { startingAt, targetsOf, taskRunsFor } from './prepare.ts';
import type { RunOptions, RunResult } from './run-options.ts';
import { TurnTaking } from './turn-taking.ts';

/** Connects to a host and gathers its facts. Its error makes the host unreachable. */
type Open<V> = (host: InventoryHost<V>) => Promise<Session>;

/**
 * Runs a playbook: connects, gathers facts, checks all tasks, and then, unless in check mode,
 * makes the changes play by play.
 *
 * @returns the result of each host, in the order of the inventory. Errors of hosts are reported as
 * events.
 * @throws Problem where a role cannot make its resources from the variables; nothing has been
 * changed then
 */
export async function run<V>(
  playbook: Playbook<V>,
  inventory: Inventory<V>,
  open: Open<V>,
  options: RunOptions,
  emit: Listener,
): Promise<RunResult> {
  const { interrupt } = options;
  const start = performance.now();
  const current = new Run(playbook, inventory, open, options, emit);
  current.emitStart();
  const { plans, declined } = await performed(current, interrupt, emit);
  const locked = current.lockProblem();
  if (locked) {
    emit({ type: 'run-failed', error: locked });
    throw locked;
  }
  const hosts = current.summaries();
  const interrupted = interrupt.aborted;
  const isDeclined = declined || hosts.some(({ stopped }) => stopped === quitByOperator);
  const seconds = (performance.now() - start) / 1000;
  emit({ type: 'run-finished', hosts, seconds, interrupted, ...(isDeclined && { declined: true }) });
  return { hosts, interrupted, plans, declined: isDeclined, leftOut: current.turns.leftOut };
}

/** Performs a run and closes it. */
async function performed<V>(current: Run<V>, interrupt: AbortSignal, emit: Listener) {
  const stopping = () => emit({ type: 'stopping' });
  interrupt.addEventListener('abort', stopping, { once: true });
  let failure: unknown;
  try {
    return await current.perform();
  } catch (error) {
    failure = error;
    emit({ type: 'run-failed', error });
    throw error;
  } finally {
    interrupt.removeEventListener('abort', stopping);
    await current.close(failure);
  }
}

/** The state of one run. */
class Run<V> {
  readonly targets: readonly InventoryHost<V>[];
  readonly #startedAt = Date.now() / 1000;
  readonly #playbook: Playbook<V>;
  readonly #inventory: Inventory<V>;
  readonly #open: Open<V>;
  readonly #options: RunOptions;
  readonly #emit: Listener;
  readonly #hosts = new Map<string, HostRun>();
  readonly #unreachable = new Map<string, { readonly seconds: number; readonly error: unknown }>();
  readonly #fleet: Fleet<V>;
  readonly #wait: LockWait | undefined;
  readonly turns: TurnTaking<V>;
  #locks: Locks | undefined;
  /** Hosts with a lock that another run has taken from this one. */
  readonly #lost = new Set<string>();
  /** Aborted when no new change may start. */
  readonly #stop = new AbortController();
  /** Why a change that needs the lock of every host was not made. */
  #locked: Problem | undefined;

  constructor(
    playbook: Playbook<V>,
    inventory: Inventory<V>,
    open: Open<V>,
    options: RunOptions,
    emit: Listener,
  ) {
    this.#playbook = playbook;
    this.#inventory = inventory;
    this.#open = open;
    this.#options = options;
    this.#emit = emit;
    this.#wait = lockWait(options, emit);
    this.targets = targetsOf(playbook, inventory, { hosts: options.hosts });
    this.#fleet = new Fleet<V>({
      inventory: inventory.hosts,
      open,
      options,
      hosts: this.#hosts,
      whyUnreachable: (host) => this.#unreachable.get(host)?.error,
      locks: () => this.#locks,
      lost: (host) => this.#lose(host),
    });
    this.turns = new TurnTaking({ playbook, inventory, options, fleet: this.#fleet, emit });
    options.interrupt.addEventListener('abort', () => this.#stop.abort(), { once: true });
  }

  emitStart(): void {
    const { check, assumedStopped } = this.#options;
    this.#emit({
      type: 'run-started',
      playbook: this.#playbook.name,
      inventory: this.#inventory.name,
      check,
      hosts: this.targets.map((host) => host.name),
      ...(assumedStopped && assumedStopped.size > 0 && { assumedStopped: [...assumedStopped] }),
    });
  }

  /** Connects, checks, plans and, unless in check mode, changes. */
  async perform(): Promise<Pick<RunResult, 'plans' | 'declined'>> {
    const { check, confirm, interrupt, refuseStale } = this.#options;
    await mapWithForks(this.targets, this.#options.forks, (target) => this.#connect(target));
    const reachable = this.targets.flatMap((target) => this.#hosts.get(target.name) ?? []);
    await this.#order(reachable);
    if (!check && !interrupt.aborted) await this.#lock(reachable);
    // Ctrl-C may have ended a wait for a lock.
    const mayChange = !check && !interrupt.aborted;
    const plans = check || confirm || refuseStale ? await this.#plan(reachable) : [];
    if (mayChange) refuseStale?.(plans);
    if (check) {
      for (const [at, host] of reachable.entries()) reportPlan(host, plans[at]?.tasks ?? []);
      return { plans, declined: false };
    }
    const declined =
      mayChange && confirm !== undefined && plans.some(changesSomething) && !(await confirm(plans));
    if (!declined) await this.#change(reachable);
    return { plans, declined };
  }

  /** Leaves out the tasks before --start-at, and orders the hosts of the plays with turns. */
  async #order(reachable: readonly HostRun[]): Promise<void> {
    await this.#leaveOutEarlierTasks();
    const { interrupt } = this.#options;
    for (const play of interrupt.aborted ? [] : this.#playbook.plays.filter(({ turns }) => turns)) {
      const hosts = reachable.filter(({ taskRuns }) => taskRuns.some(({ task }) => task.play === play.name));
      await this.turns.order(play, hosts);
    }
  }

  /**
   * @param failure of the whole run
   */
  async close(failure?: unknown): Promise<void> {
    const { lock, interrupt } = this.#options;
    await this.#locks?.release((name) => {
      const host = this.#hosts.get(name);
      return lock && host?.isOpen ? endLine(lock.holder, endOf(host, interrupt.aborted, failure)) : undefined;
    });
    await this.#fleet.close();
    await Promise.allSettled([...this.#hosts.values()].map(({ session }) => session.close()));
  }

  /** Why a run has to end with the exit code for locks. */
  lockProblem(): Problem | undefined {
    return this.#locked ?? (this.#lost.size > 0 ? lockLost([...this.#lost]) : undefined);
  }

  summaries(): HostSummary[] {
    return this.targets.map(({ name }) => {
      const away = this.#unreachable.get(name);
      const counts = { ok: 0, changed: 0, pending: 0, unknown: 0, warning: 0, failed: 0 };
      const none = {
        host: name,
        counts,
        seconds: away?.seconds ?? 0,
        unreachable: away !== undefined,
        roundTrips: 0,
      };
      if (away) return { ...none, stopped: 'unreachable' };
      return this.#hosts.get(name)?.summary() ?? { ...none, stopped: 'interrupted before it was checked' };
    });
  }

  async #connect(target: InventoryHost<V>): Promise<void> {
    const { interrupt, startAt } = this.#options;
    if (interrupt.aborted) return;
    const start = performance.now();
    const seconds = () => (performance.now() - start) / 1000;
    let session: Session;
    try {
      session = await this.#open(target);
    } catch (error) {
      // An interrupted connection says nothing about the host.
      if (interrupt.aborted) return;
      this.#unreachable.set(target.name, { seconds: seconds(), error });
      this.#emit({ type: 'host-unreachable', host: target.name, error });
      return;
    }
    this.#emit({ type: 'host-connected', host: target.name, seconds: seconds() });
    const host = new HostRun(target.name, session, this.#emit);
    this.#hosts.set(target.name, host);
    await host.timed(async () => {
      host.taskRuns = await taskRunsFor(
        this.#playbook,
        this.#inventory,
        target,
        session.facts,
        this.#options,
      );
      // --start-at needs the tasks of all hosts.
      if (startAt === undefined) await host.checkAll();
    });
  }

  /** With --start-at: leaves out the earlier tasks and checks the rest. */
  async #leaveOutEarlierTasks(): Promise<void> {
    const { startAt } = this.#options;
    const hosts = [...this.#hosts.values()];
    if (startAt === undefined || hosts.length === 0) return;
    const taskRuns = hosts.map((host) => host.taskRuns);
    const rest = startingAt(startAt, taskRuns, this.#playbook);
    for (const host of hosts) host.taskRuns = rest(host.taskRuns);
    await Promise.all(hosts.map((host) => host.timed(() => host.checkAll())));
  }

  /**
   * Takes the locks if there is something to change, and checks again if another run has just
   * ended.
   */
  async #lock(reachable: readonly HostRun[]): Promise<void> {
    const { lock } = this.#options;
    if (!lock || !reachable.some((host) => host.isDue)) return;
    // Two runs that take turns must not meet at a gateway.
    const desks = reachable.some(({ taskRuns }) => taskRuns.some(({ turn }) => turn))
      ? this.turns.sessions
      : [];
    const sessions = new Map([...desks, ...reachable.map(({ name, session }) => [name, session] as const)]);
    const taken = await awaitLocks(
      [...sessions].map(([name, session]) => lockedHost(name, session)),
      lock.holder,
      {
        breaks: lock.breaks,
        lost: (host) => this.#lose(host),
        without: (name, why) => {
          const host = this.#hosts.get(name);
          host?.stop(host.taskRuns[0]?.task.play ?? '', why);
        },
      },
      this.#wait,
    );
    if (!taken) return;
    this.#locks = taken.had;
    if (taken.seconds > 0) {
      this.#emit({ type: 'locks-taken', seconds: taken.seconds });
      await this.#lookAgain(reachable);
    } else if (this.#locks.endedSince(this.#startedAt))
      await mapWithForks(reachable, this.#options.forks, (host) => host.check(host.taskRuns));
  }

  /** After another run: facts, roles and checks, as at the beginning. */
  async #lookAgain(reachable: readonly HostRun[]): Promise<void> {
    await mapWithForks(reachable, this.#options.forks, async (host) => {
      const target = this.targets.find(({ name }) => name === host.name);
      if (!target) return;
      const { reader, facts: former } = host.session;
      // A lost connection is reported by the checks.
      const facts = await gatherFacts(reader).catch(() => former);
      host.taskRuns = await taskRunsFor(this.#playbook, this.#inventory, target, facts, this.#options);
      if (this.#options.startAt === undefined) await host.timed(() => host.checkAll());
    });
    await this.#order(reachable);
  }

  #lose(host: string): void {
    this.#lost.add(host);
    this.#stop.abort();
  }

  #plan(reachable: readonly HostRun[]): Promise<HostPlan[]> {
    const everyHost = (condition: EveryHost) => this.#fleet.check(condition);
    return Promise.all(
      reachable.map(async (host) => ({ host: host.name, tasks: await planOf(host, everyHost) })),
    );
  }

  #change(reachable: readonly HostRun[]): Promise<void> {
    const whileEveryHost = async (condition: EveryHost, change: () => Promise<void>) => {
      try {
        return await this.#fleet.change(condition, change);
      } catch (error) {
        if (error instanceof Problem && error.code === exitCode.locked) this.#locked ??= error;
        throw error;
      }
    };
    const { lock } = this.#options;
    if (lock)
      for (const host of reachable)
        host.before(() => appending(beginLine(lock.holder, host.taskRuns, Date.now())));
    const options = { ...this.#options, stop: this.#stop.signal, whileEveryHost, turns: this.turns };
    return changeAll(
      this.#playbook,
      this.#inventory,
      reachable,
      [...this.#unreachable.keys()],
      options,
      this.#emit,
    );
  }
}

/** How a run waits for the locks of others, and reports it; undefined where it does not. */
function lockWait({ lock, interrupt }: RunOptions, emit: Listener): LockWait | undefined {
  const most = lock?.wait;
  if (most === undefined) return undefined;
  return {
    most,
    interrupt,
    waits: ({ host, holder }) => emit({ type: 'lock-awaited', host, holder, most }),
  };
}

/** Check mode: reports the plan, in order. A failed `must` is a failure in both modes. */
function reportPlan(host: HostRun, tasks: readonly Planned[]): void {
  for (const planned of tasks) {
    const { task, outcome, differences, note, error } = planned;
    host.done(task, outcome, { differences, note, error, commands: commandsOf(planned) });
    if (!(error instanceof ConnectionLost)) continue;
    // All later tasks would report the same.
    host.stop(task.play, 'the connection was lost');
    return;
  }
}
