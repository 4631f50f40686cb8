import type { Progress } from '../host/host.ts';
import type { RecordedRead } from '../host/reads/recorded-read.ts';
import type { Session } from '../host/session.ts';
import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { Failure } from '../problem/problem.ts';
import { applyDrift } from '../resource/apply-drift.ts';
import { driftOf, type Resource, type Verdict, type Work } from '../resource/resource.ts';
import { asRepeated } from '../text/as-started.ts';
import { type ChangeOptions, quitByOperator } from './converge.ts';
import type { Listener, Task } from './events.ts';
import type { Fleet } from './fleet.ts';
import type { HostRun, TaskRun } from './host-run.ts';
import { mapWithForks } from './limit.ts';
import { type Planned, plannedTasks } from './plan.ts';
import type { Play, Playbook } from './playbook.ts';
import { coveredBy, playHosts, turnsOf } from './prepare.ts';
import { batchesOf, type Turns } from './rolling.ts';
import type { RunOptions } from './run-options.ts';

/**
 * A host at which turns are taken, such as a gateway; without a session where it cannot be
 * reached.
 */
type Desk<V> = { readonly at: InventoryHost<V>; readonly session: Session | undefined };

/** What a task of a turn is at one desk. */
type Part<V> = Desk<V> & { readonly resource: Resource };

/** The parts of a run that turns need. */
interface TurnsRun<V> {
  readonly playbook: Playbook<V>;
  readonly inventory: Inventory<V>;
  readonly options: RunOptions;
  readonly fleet: Fleet<V>;
  readonly emit: Listener;
}

/**
 * Puts the tasks of turns around those of the hosts that need one, and orders the hosts of a play.
 */
export class TurnTaking<V> {
  readonly #run: TurnsRun<V>;
  #desks: readonly Desk<V>[] = [];
  /** Where hosts leave at the same time, each could count on the others to serve. */
  #queue: Promise<unknown> = Promise.resolve();
  /** Hosts that are out of service, for a change in their turn failed. */
  readonly leftOut: string[] = [];

  constructor(run: TurnsRun<V>) {
    this.#run = run;
  }

  /** The connected hosts at which turns are taken, by name. */
  get sessions(): readonly (readonly [string, Session])[] {
    return this.#desks.flatMap(({ at, session }) => (session ? [[at.name, session] as const] : []));
  }

  /**
   * The order of the hosts of a play by their last checks. Where clients notice the changes of a
   * host, it gets two more tasks: it leaves before the first of these changes, and comes back at
   * the end of the play. A host that a killed run left out comes back, too.
   *
   * @param hosts of the play, with tasks
   * @param moved whether their last checks are outdated
   * @returns hosts that change at the same time, then batches that change one after the other
   */
  async order(
    play: Play<V>,
    hosts: readonly HostRun[],
    moved = false,
  ): Promise<readonly (readonly HostRun[])[]> {
    const { inventory, options } = this.#run;
    const turns = turnsOf(play, inventory);
    const alone = this.#aloneWithoutTurns(play);
    if (!turns && (play.turns ? alone.size === 0 : play.serial === undefined)) return [hosts];
    if (moved)
      await mapWithForks(hosts, options.forks, (host) =>
        host.check(host.taskRuns.filter((taskRun) => isOf(play, taskRun))),
      );
    const total = [...playHosts(play, inventory)].filter((name) => options.hosts.has(name)).length;
    const split = (due: readonly HostRun[]) => [
      hosts.filter((host) => !due.includes(host)),
      ...batchesOf(due, play.serial ?? total, total),
    ];
    if (turns) return this.#takeTurns(play, turns, hosts, split);
    const { turns: without } = play;
    if (without) {
      const isNoticed = (host: HostRun) => this.#firstDisturbing(host, play, without) !== undefined;
      return split(hosts.filter((host) => alone.has(host.name) && isNoticed(host)));
    }
    const isDue = (task: Planned) =>
      isOf(play, task) && (task.outcome === 'pending' || task.outcome === 'unknown');
    return split(hosts.filter(({ taskRuns }) => plannedTasks(taskRuns).some(isDue)));
  }

  /** The hosts that change one after the other although no turns are taken. */
  #aloneWithoutTurns({ turns }: Play<V>): Set<string> {
    const { inventory } = this.#run;
    const covered = coveredBy(turns, inventory);
    const alone = inventory.hosts.filter((host) => covered.has(host.name) && turns?.aloneWithout?.(host));
    return new Set(alone.map(({ name }) => name));
  }

  async #takeTurns(
    play: Play<V>,
    turns: Turns<V>,
    hosts: readonly HostRun[],
    split: (due: readonly HostRun[]) => readonly (readonly HostRun[])[],
  ): Promise<readonly (readonly HostRun[])[]> {
    for (const host of hosts)
      host.taskRuns = host.taskRuns.filter((taskRun) => !(taskRun.turn && isOf(play, taskRun)));
    await this.#reachDesks(turns);
    const { serving, left } = await this.#standing(turns);
    const { inventory } = this.#run;
    const covered =
      this.#desks.length > 0 ? hosts.filter(({ name }) => coveredBy(turns, inventory).has(name)) : [];
    const first = new Map(covered.map((host) => [host, this.#firstDisturbing(host, play, turns)]));
    const rank = ({ name }: HostRun) => {
      if (left.has(name)) return 0;
      return serving.has(name) ? 2 : 1;
    };
    const due = covered.filter((host) => serving.size > 0 && first.get(host) !== undefined);
    const order = split(due.toSorted((one, other) => rank(one) - rank(other)));
    for (const host of covered) {
      const turn = order.findIndex((batch) => batch.includes(host));
      const note = turn > 0 ? `turn ${turn} of ${order.length - 1}` : '';
      const taskRun = (kind: 'leave' | 'back') => this.#taskRun(kind, host, play, turns, note);
      // One that a killed run left out may not be well before the last play of its turn.
      const comesBack = left.has(host.name) ? !this.#takesTurnsAfter(host, play) : turn > 0;
      const back = comesBack ? [taskRun('back')] : [];
      const leave = turn > 0 ? [taskRun('leave')] : [];
      await host.check([...leave, ...back]);
      host.taskRuns = host.taskRuns.toSpliced(
        host.taskRuns.findLastIndex((each) => isOf(play, each)) + 1,
        0,
        ...back,
      );
      host.taskRuns = host.taskRuns.toSpliced(first.get(host) ?? 0, 0, ...leave);
    }
    return order;
  }

  /**
   * Connects to the hosts at which turns are taken. One that the operator declares stopped is left
   * out.
   */
  async #reachDesks({ at: group }: Turns<V>): Promise<void> {
    const { inventory, options, fleet } = this.#run;
    const desks = inventory.hosts.filter(({ groups }) => groups.includes(group));
    const reached = await fleet.reach(desks);
    this.#desks = desks
      .map((at) => ({ at, session: reached.get(at.name) }))
      .filter(({ at, session }) => session || !options.assumedStopped?.has(at.name));
  }

  /** The hosts that serve clients, and those that a killed run left out. */
  async #standing(turns: Turns<V>) {
    const seen = await Promise.all(
      this.#desks.map(({ at, session }) => session && turns.look(session.reader, at)),
    );
    return {
      // A desk that cannot be reached may have clients for every host.
      serving: new Set(seen.flatMap((each) => each?.serving ?? 'unknown')),
      left: new Set(seen.flatMap((each) => each?.left ?? [])),
    };
  }

  /**
   * Ends the turn of a host that did not get to its end: as it is where nothing failed in it, else
   * the host stays out.
   *
   * @param why it stopped
   * @returns why it stopped, and what became of its turn
   */
  async abandon(
    host: HostRun,
    play: Play<V>,
    why: string,
    { stop }: Pick<ChangeOptions, 'stop'>,
  ): Promise<string> {
    const { interrupt } = this.#run.options;
    const leave = host.taskRuns.find(
      (taskRun) => taskRun.turn === 'leave' && taskRun.task.play === play.name,
    );
    // Another run has taken the lock of this one: the turn is its own now.
    if (!play.turns || !leave || (stop.aborted && !interrupt.aborted)) return why;
    if (!interrupt.aborted && why !== quitByOperator && leave.seen?.is === 'ok') {
      this.leftOut.push(host.name);
      return asRepeated(`${why}; ${play.turns.staysOut}`);
    }
    const undo = this.#taskRun('undo', host, play, play.turns);
    return undo.resource.work(host.writerFor(undo.task)).then(
      () => why,
      (error) => `${why}; its turn was not undone: ${error instanceof Error ? error.message : error}`,
    );
  }

  /**
   * The place of the first task of a play whose change clients notice. None where an earlier play
   * without turns takes the host's clients away, as a change of the version does on all hosts
   * together.
   */
  #firstDisturbing(host: HostRun, play: Play<V>, turns: Turns<V>): number | undefined {
    const others = this.#run.playbook.plays
      .filter((each) => each.turns && each !== play)
      .map(({ name }) => name);
    const at = plannedTasks(host.taskRuns).findIndex(({ task, outcome, differences }, place) => {
      if (outcome !== 'pending' || others.includes(task.play)) return false;
      return host.taskRuns[place]?.resource.changes?.(differences).some((effect) => turns.disturbs(effect));
    });
    return host.taskRuns[at]?.task.play === play.name ? at : undefined;
  }

  #takesTurnsAfter(host: HostRun, play: Play<V>): boolean {
    const { plays } = this.#run.playbook;
    const later = plays.slice(plays.indexOf(play) + 1).filter(({ turns }) => turns);
    return later.some(({ name }) => host.taskRuns.some(({ task, turn }) => task.play === name && !turn));
  }

  /**
   * A task of a turn: the resources of all desks as one of the host.
   *
   * @param note shown in a plan
   */
  #taskRun(kind: 'leave' | 'back' | 'undo', host: HostRun, play: Play<V>, turns: Turns<V>, note = '') {
    const parts = this.#desks.map(({ at, session }) => ({
      at,
      session,
      resource: turns[kind](host.name, at),
    }));
    const name = parts[0]?.resource.name ?? kind;
    const task = { host: host.name, play: play.name, role: 'turn', resource: name };
    const effect = `turn of ${host.name}`;
    const make = () => this.#make(parts, task);
    const resource: Work = {
      name,
      ...(kind === 'leave' && { changes: () => [effect] }),
      ...(kind === 'back' && { follows: [{ what: effect, effect: 'is done', certain: true }] }),
      check: async () => {
        const verdict = await checkParts(parts, host.name);
        return verdict.is === 'drift' && note !== '' ? { ...verdict, note } : verdict;
      },
      work: () => {
        const made = kind === 'leave' ? this.#queue.then(make) : make();
        if (kind === 'leave') this.#queue = made.catch(() => {});
        return made;
      },
    };
    const turn = kind === 'undo' ? 'back' : kind;
    return {
      task,
      resource,
      turn,
      seen: undefined,
      seenIn: -1,
      reads: new Set<RecordedRead>(),
    } satisfies TaskRun;
  }

  /**
   * Makes the parts of a task at all desks, and throws the first error only after the last one has
   * ended.
   */
  async #make(parts: readonly Part<V>[], task: Task): Promise<void> {
    const report = (progress: Progress) => this.#run.emit({ type: 'progress', task, progress });
    const made = await Promise.allSettled(
      parts.map(({ session, resource }) => session && applyDrift(session, resource, report)),
    );
    for (const each of made) if (each.status === 'rejected') throw each.reason;
  }
}

/** Whether a task is of a play. */
function isOf({ name }: Play<never>, { task }: Pick<TaskRun, 'task'>): boolean {
  return task.play === name;
}

/** The drift of all parts, each difference with the name of its desk. */
async function checkParts<V>(parts: readonly Part<V>[], host: string): Promise<Verdict> {
  const verdicts = await Promise.all(
    parts.map(({ at, session, resource }) => {
      if (session) return resource.check(session.reader);
      throw new Failure(`${at.name} cannot be reached, and may send clients to ${host}`, {
        hint: `run again when ${at.name} answers. If you know that the gateway is off: --assume-stopped ${at.name}`,
      });
    }),
  );
  return driftOf(
    verdicts.flatMap((each, at) =>
      each.is === 'drift' ? each.differences.map((one) => ({ ...one, what: parts[at]?.at.name ?? '' })) : [],
    ),
  );
}
