import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { exitCode, Problem } from '../problem/problem.ts';
import { applyDrift, driftOf, type Resource, type Verdict, type Work } from '../resource/resource.ts';
import { type ChangeOptions, quitByOperator } from './converge.ts';
import type { Listener, Step } from './events.ts';
import type { Fleet } from './fleet.ts';
import type { HostRun } from './host-run.ts';
import type { Session } from './open-session.ts';
import { plannedTasks } from './plan.ts';
import type { Play, Playbook } from './playbook.ts';
import { playHosts } from './prepare.ts';
import { batchesOf } from './rolling.ts';
import type { RunOptions } from './run-options.ts';
import type { Turns } from './turns.ts';

/** A host at which turns are taken, such as a gateway. */
interface Desk<V> {
  readonly host: InventoryHost<V>;
  /** undefined where it cannot be reached. */
  readonly session: Session | undefined;
}

/** How the hosts of a play change. */
interface Order {
  /** They change at the same time, before the others. */
  readonly free: readonly HostRun[];
  /** One after the other. */
  readonly batches: readonly (readonly HostRun[])[];
}

/** The parts of a run that turns need. */
interface TurnsRun<V> {
  readonly playbook: Playbook<V>;
  readonly inventory: Inventory<V>;
  readonly options: Pick<RunOptions, 'hosts' | 'interrupt' | 'assumedStopped' | 'putBack'>;
  readonly fleet: Fleet<V>;
  readonly emit: Listener;
}

/** Puts the tasks of turns around those of the hosts that need one, and orders the hosts of a play. */
export class TurnTaking<V> {
  readonly #run: TurnsRun<V>;
  #desks: readonly Desk<V>[] = [];
  /** Where hosts leave at the same time, each could count on the others to serve. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(run: TurnsRun<V>) {
    this.#run = run;
  }

  /** The connected hosts at which turns are taken, by name. */
  get sessions(): readonly (readonly [string, Session])[] {
    return this.#desks.flatMap(({ host, session }) => (session ? [[host.name, session] as const] : []));
  }

  /**
   * The order of the hosts of a play by their last checks. Where clients notice the changes of a host, it gets two more tasks: it leaves
   * before the first of these changes, and comes back at the end of the play. A host that a killed run left out comes back, too.
   *
   * @param hosts of the play, with tasks
   * @param moved whether their last checks are outdated
   */
  async order(play: Play<V>, hosts: readonly HostRun[], moved = false): Promise<Order> {
    const { serial, turns } = play;
    const { inventory } = this.#run;
    const isPlain = turns ? !inventory.hosts.some(({ groups }) => groups.includes(turns.at)) : serial === undefined;
    if (isPlain) return { free: hosts, batches: [] };
    const itemsOf = (host: HostRun) => host.items.filter(({ step }) => step.play === play.name);
    if (moved) await Promise.all(hosts.map((host) => host.check(itemsOf(host))));
    const total = [...playHosts(play, inventory)].filter((name) => this.#run.options.hosts.has(name)).length;
    const split = (due: readonly HostRun[]): Order => ({
      free: hosts.filter((host) => !due.includes(host)),
      batches: batchesOf(due, serial ?? total, total),
    });
    if (!turns) return split(hosts.filter((host) => isDue(host, play)));
    for (const host of hosts) host.items = host.items.filter((item) => !(item.turn && item.step.play === play.name));
    this.#desks = await this.#reach(turns.at);
    const covered = hosts.filter((host) => turns.covers(this.#target(host)));
    if (this.#desks.length === 0) return split([]);
    const { serving, left } = await look(turns, this.#desks);
    const rank = ({ name }: HostRun) => (left.has(name) ? 0 : serving.has(name) ? 2 : 1);
    const due = covered
      .filter((host) => serving.size > 0 && this.#firstDisturbing(host, play, turns) !== undefined)
      .toSorted((one, other) => rank(one) - rank(other));
    const order = split(due);
    for (const host of covered) {
      const turn = order.batches.findIndex((batch) => batch.includes(host));
      const note = turn < 0 ? undefined : `turn ${turn + 1} of ${order.batches.length}`;
      // One that a killed run left out may not be well before the last play of its turn.
      const goesOn = left.has(host.name) && this.#takesTurnsAfter(host, play);
      if (note !== undefined || (left.has(host.name) && !goesOn))
        await this.#surround(host, play, turns, note, !goesOn);
    }
    return order;
  }

  /**
   * Ends the turn of a host that did not get to its end: as it is where nothing failed in it, else by `putBack`, if there is one.
   *
   * @param why it stopped
   * @returns why it stopped, and what became of its turn
   */
  async abandon(host: HostRun, play: Play<V>, why: string, { stop }: Pick<ChangeOptions, 'stop'>): Promise<string> {
    const { interrupt, putBack } = this.#run.options;
    const leave = host.items.find((item) => item.turn === 'leave' && item.step.play === play.name);
    // Another run has taken the lock of this one: the turn is its own now.
    if (!play.turns || !leave || (stop.aborted && !interrupt.aborted)) return why;
    if (interrupt.aborted || why === quitByOperator || leave.seen?.is !== 'ok') {
      await this.#apply('undo', host, play.turns, leave.step).catch((error) => {
        why = `${why}; its turn was not undone: ${messageOf(error)}`;
      });
      return why;
    }
    const put = await putBack?.(host.name, host.session).catch((error) => ({ done: false, says: messageOf(error) }));
    if (!put?.done) return [why, ...(put ? [put.says] : []), play.turns.staysOut].join('; ');
    try {
      await this.#apply('back', host, play.turns, leave.step);
      return `${why}; ${put.says}`;
    } catch (error) {
      return `${why}; ${put.says}; ${messageOf(error)}; ${play.turns.staysOut}`;
    }
  }

  async #reach(group: string): Promise<Desk<V>[]> {
    const { inventory, fleet, options } = this.#run;
    const all = inventory.hosts.filter(({ groups }) => groups.includes(group));
    const reached = await fleet.reach(all);
    return all
      .map((host) => ({ host, session: reached.get(host.name) }))
      .filter(({ host, session }) => session || !options.assumedStopped?.has(host.name));
  }

  #target({ name }: HostRun): InventoryHost<V> {
    const found = this.#run.inventory.hosts.find((host) => host.name === name);
    if (!found) throw new TypeError(`${name} is not in the inventory`);
    return found;
  }

  /**
   * The place of the first task of a play whose change clients notice. None where an earlier play without turns takes the host's clients
   * away, as a change of the version does on all hosts together.
   */
  #firstDisturbing(host: HostRun, play: Play<V>, turns: Turns<V>): number | undefined {
    const { plays } = this.#run.playbook;
    const isSurrounded = (name: string) => name !== play.name && plays.some((each) => each.name === name && each.turns);
    const at = plannedTasks(host.items).findIndex(({ step, outcome, differences }, place) => {
      const effects = outcome === 'pending' ? (host.items[place]?.resource.changes?.(differences) ?? []) : [];
      return !isSurrounded(step.play) && effects.some((effect) => turns.disturbs(effect));
    });
    return host.items[at]?.step.play === play.name ? at : undefined;
  }

  #takesTurnsAfter(host: HostRun, play: Play<V>): boolean {
    const { plays } = this.#run.playbook;
    const later = plays.slice(plays.findIndex(({ name }) => name === play.name) + 1).filter(({ turns }) => turns);
    return later.some(({ name }) => host.items.some(({ step, turn }) => step.play === name && !turn));
  }

  /** Adds the tasks of a turn. @param note undefined for a host that only comes back */
  async #surround(
    host: HostRun,
    play: Play<V>,
    turns: Turns<V>,
    note: string | undefined,
    isBack: boolean,
  ): Promise<void> {
    const add = async (turn: 'leave' | 'back', at: number) => {
      const step = { host: host.name, play: play.name, role: 'turn' };
      const resource = this.#resource(turn, host, turns, step, note);
      const item = {
        step: { ...step, resource: resource.name },
        resource,
        turn,
        seen: undefined,
        seenIn: -1,
        reads: new Set<() => string>(),
      };
      await host.check([item]);
      host.items = host.items.toSpliced(at, 0, item);
    };
    if (isBack) await add('back', host.items.findLastIndex(({ step }) => step.play === play.name) + 1);
    const first = this.#firstDisturbing(host, play, turns);
    if (note !== undefined && first !== undefined) await add('leave', first);
  }

  /** The resources of all desks as one of the host. */
  #resource(
    kind: 'leave' | 'back' | 'undo',
    host: HostRun,
    turns: Turns<V>,
    step: Omit<Step, 'resource'>,
    note?: string,
  ): Work {
    const target = this.#target(host);
    const parts = this.#desks.map((desk) => ({ ...desk, resource: turns[kind](target, desk.host) }));
    const name = parts[0]?.resource.name ?? kind;
    const effect = `turn of ${host.name}`;
    return {
      name,
      ...(kind === 'leave' && { changes: () => [effect] }),
      ...(kind === 'back' && { follows: [{ what: effect, effect: 'is done', certain: true }] }),
      check: async () => {
        const away = parts.find(({ session }) => !session)?.host.name;
        if (away !== undefined && kind !== 'undo') throw cannotBeReached(away, host.name);
        const verdicts = await Promise.all(parts.map(async (part) => [part.host.name, await checkOf(part)] as const));
        return together(verdicts, note);
      },
      work: async () => {
        const make = () => this.#make(parts, { ...step, resource: name });
        const turn = kind === 'leave' ? this.#queue.then(make) : make();
        if (kind === 'leave') this.#queue = turn.catch(() => {});
        await turn;
      },
    };
  }

  async #make(parts: readonly (Pick<Desk<V>, 'session'> & { resource: Resource })[], step: Step): Promise<void> {
    const made = await Promise.allSettled(
      parts.map(async ({ session, resource }) => {
        const writer = session?.writerFor((progress) => this.#run.emit({ type: 'progress', step, progress }));
        if (writer) await applyDrift(writer, resource);
      }),
    );
    for (const each of made) if (each.status === 'rejected') throw each.reason;
  }

  async #apply(kind: 'back' | 'undo', host: HostRun, turns: Turns<V>, step: Step): Promise<void> {
    await this.#resource(kind, host, turns, step).work(host.writerFor(step));
  }
}

/** Whether a host has something to change in a play. */
function isDue(host: HostRun, play: Play<never>): boolean {
  return plannedTasks(host.items).some(
    ({ step, outcome }) => step.play === play.name && (outcome === 'pending' || outcome === 'unknown'),
  );
}

/** Of all desks: one that cannot be reached may have clients for every host. */
async function look<V>(turns: Turns<V>, desks: readonly Desk<V>[]) {
  const seen = await Promise.all(
    desks.map(({ host, session }) => (session ? turns.look(session.reader, host) : { serving: [host.name], left: [] })),
  );
  return {
    serving: new Set(seen.flatMap(({ serving }) => serving)),
    left: new Set(seen.flatMap(({ left }) => left)),
  };
}

async function checkOf({ session, resource }: { session: Session | undefined; resource: Resource }): Promise<Verdict> {
  return session ? resource.check(session.reader) : { is: 'ok' };
}

function together(verdicts: readonly (readonly [string, Verdict])[], note: string | undefined): Verdict {
  const differences = verdicts.flatMap(([what, verdict]) =>
    verdict.is === 'drift' ? verdict.differences.map(({ was, wanted }) => ({ what, was, wanted })) : [],
  );
  const verdict = driftOf(differences);
  return verdict.is === 'drift' && note !== undefined ? { ...verdict, note } : verdict;
}

function cannotBeReached(desk: string, host: string): Problem {
  return new Problem(`${desk} cannot be reached, and may send clients to ${host}`, {
    hint: `run again when it answers. If you know that it is off: --assume-stopped ${desk}`,
    code: exitCode.failed,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
