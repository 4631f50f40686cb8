import type { Session } from '../host/session.ts';
import type { InventoryHost } from '../inventory/inventory.ts';
import { exitCode, Failure, Problem } from '../problem/problem.ts';
import { Interrupted } from '../resource/job/pause.ts';
import { describeVerdict, type EveryHost, type Verdict } from '../resource/resource.ts';
import type { FleetVerdict } from './fleet-verdict.ts';
import type { HostRun } from './host-run.ts';
import { mapWithForks } from './limit.ts';
import { type LockedHost, type Locks, lockHosts } from './lock/locks.ts';
import { LockRefused } from './lock/refused.ts';
import type { RunOptions } from './run-options.ts';

/** The parts of a run that a fleet uses. */
export interface FleetRun<V> {
  /** All hosts of the inventory. */
  readonly inventory: readonly InventoryHost<V>[];
  readonly open: (host: InventoryHost<V>) => Promise<Session>;
  readonly options: Pick<RunOptions, 'forks' | 'interrupt' | 'lock' | 'assumedStopped'>;
  /** The connected hosts of the run. */
  readonly hosts: ReadonlyMap<string, HostRun>;
  /** The error of a host of the run that is unreachable. */
  whyUnreachable(host: string): unknown;
  /** The run's own locks. */
  locks(): Locks | undefined;
  /** Called with a host after another run has taken its lock from this one. */
  lost(host: string): void;
}

/**
 * All hosts of an inventory. Hosts outside of the run's limit are connected only when a resource
 * with a condition for every host has to be changed.
 */
export class Fleet<V> {
  readonly #run: FleetRun<V>;
  readonly #sessions = new Map<string, Session>();
  readonly #errors = new Map<string, unknown>();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(run: FleetRun<V>) {
    this.#run = run;
  }

  /**
   * Checks the condition for a plan, without locks. A host that was unreachable in this run is not
   * tried again.
   */
  check(condition: EveryHost): Promise<FleetVerdict> {
    return this.#serialize(async () => this.#check(condition, await this.reach(this.#run.inventory)));
  }

  /**
   * Makes a change while the condition holds: locks all reachable hosts, checks them, makes the
   * change, and releases the locks that the run did not have before. One such change runs at a
   * time.
   *
   * @param change makes the change and checks it
   * @returns a note about hosts that were not checked
   * @throws Problem where the condition is not met, or another run has the lock of a host (exit
   * code 5); nothing was changed then
   */
  change(condition: EveryHost, change: () => Promise<void>): Promise<string | undefined> {
    return this.#serialize(async () => {
      const { interrupt } = this.#run.options;
      const reached = await this.reach(this.#run.inventory, true);
      if (interrupt.aborted) throw new Interrupted();
      const locks = await this.#lockRemaining(reached);
      try {
        const { refused, until, note } = await this.#check(condition, reached);
        if (refused) throw refused;
        if (until !== undefined)
          throw new Failure(`${condition.name}: unknown until ${until}`, { hint: condition.hint });
        const taken = [...((await this.#run.locks()?.taken()) ?? []), ...((await locks?.taken()) ?? [])];
        if (taken.length > 0) throw lockLost(taken);
        if (interrupt.aborted) throw new Interrupted();
        await change();
        return note;
      } finally {
        await locks?.release();
      }
    });
  }

  /** Closes the connections to hosts outside of the run. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#sessions.values()].map((session) => session.close()));
  }

  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => {});
    return turn;
  }

  /**
   * Connects to hosts, inside or outside of the run.
   *
   * @param again whether to try those again that were unreachable before
   */
  async reach(wanted: readonly InventoryHost<V>[], again = false): Promise<Map<string, Session>> {
    const { hosts, open, options } = this.#run;
    const reached = new Map<string, Session>();
    await mapWithForks(wanted, options.forks, async (host) => {
      if (options.interrupt.aborted) return;
      const { name } = host;
      const known = this.#sessions.get(name) ?? hosts.get(name)?.session;
      if (known && (await isAlive(known))) {
        reached.set(name, known);
        return;
      }
      const error = this.#errors.get(name) ?? this.#run.whyUnreachable(name);
      this.#errors.set(name, error);
      if (error !== undefined && !again) return;
      try {
        const session = await open(host);
        const before = this.#sessions.get(name);
        before?.close().catch(() => {});
        this.#sessions.set(name, session);
        this.#errors.delete(name);
        reached.set(name, session);
      } catch (error) {
        this.#errors.set(name, error);
      }
    });
    return reached;
  }

  /**
   * Locks the hosts that the run has not locked. A host that cannot be locked counts as
   * unreachable. The run does not wait for them: its holder may wait for those that this run has.
   */
  async #lockRemaining(reached: Map<string, Session>): Promise<Locks | undefined> {
    const { lock } = this.#run.options;
    if (!lock) return undefined;
    const own = this.#run.locks();
    const rest = this.#run.inventory.flatMap(({ name }): LockedHost[] => {
      const session = reached.get(name);
      return session && !own?.has(name) ? [lockedHost(name, session)] : [];
    });
    const options = {
      breaks: lock.breaks,
      lost: (host: string) => this.#run.lost(host),
      without: (host: string, why: string) => void this.#errors.set(host, new Error(why)),
    };
    const locks = await lockHosts(rest, lock.holder, options).catch((error: unknown) => {
      throw error instanceof LockRefused ? refusedWhileLocked(error) : error;
    });
    for (const { name } of rest) {
      if (locks.has(name)) continue;
      reached.delete(name);
      if (!this.#errors.has(name)) this.#errors.set(name, new Error('the connection was lost'));
    }
    return locks;
  }

  async #check(condition: EveryHost, reached: ReadonlyMap<string, Session>): Promise<FleetVerdict> {
    const { inventory, options } = this.#run;
    const unreachable = inventory.map(({ name }) => name).filter((name) => !reached.has(name));
    const assumedStopped = unreachable.filter((name) => options.assumedStopped?.has(name));
    const unchecked = new Map(
      unreachable
        .filter((name) => !assumedStopped.includes(name))
        .map((name) => [name, this.#errors.get(name)]),
    );
    const checked = await Promise.all(
      inventory.map(async ({ name }): Promise<(readonly [string, Verdict])[]> => {
        const session = reached.get(name);
        if (!session) return [];
        try {
          return [
            [
              name,
              await condition.check(session.reader, assumedStopped, (other) => reached.get(other)?.reader),
            ],
          ];
        } catch (error) {
          unchecked.set(name, error);
          return [];
        }
      }),
    );
    // In the order of the inventory, whichever host answers first.
    const verdicts = checked.flat();
    const drifting = verdicts.filter(([, { is }]) => is === 'drift');
    const until = verdicts.flatMap(([name, seen]) =>
      seen.is === 'unknown' ? [`${seen.until} on ${name}`] : [],
    );
    const notes = [
      ...(assumedStopped.length > 0
        ? [`${assumedStopped.join(', ')} not checked: assumed to be stopped`]
        : []),
      ...verdicts.flatMap(([, seen]) => (seen.is === 'ok' && seen.note ? [seen.note] : [])),
    ];
    const answer = { until: until[0], note: notes.length > 0 ? notes.join('; ') : undefined };
    if (drifting.length > 0) return { ...answer, refused: preconditionFailed(condition, drifting) };
    return { ...answer, refused: unchecked.size > 0 ? preconditionUnknown(condition, unchecked) : undefined };
  }
}

/** A host as lockHosts takes it. */
export function lockedHost(name: string, session: Session): LockedHost {
  return { name, writer: session.writerFor(() => {}), clockOffset: session.facts.clockOffset };
}

/** The error of a run with locks that needs one more, which another run has. */
function refusedWhileLocked({ message, code, hint }: LockRefused): Problem {
  const remedy =
    'run again when it has ended; without --limit a run takes the locks of all hosts at its start, where --wait 10m waits for them';
  // Of a silent holder, the hint is --break-lock.
  const isSilent = hint?.includes('--break-lock');
  return new Problem(`${message}; this run has locks itself, and does not wait for more`, {
    code,
    hint: isSilent ? `${hint}. Else ${remedy}` : remedy,
  });
}

/** The error of a run that has lost its locks. */
export function lockLost(hosts: readonly string[]): Problem {
  return new Problem(`another run has taken the lock of ${hosts.join(', ')} away (--break-lock)`, {
    code: exitCode.locked,
    hint: 'this run stopped after the running changes; check what the other run does, then run again',
  });
}

/** Whether a connection still answers. */
async function isAlive({ reader }: Session): Promise<boolean> {
  try {
    await reader.$`:`;
    return true;
  } catch {
    return false;
  }
}

function preconditionFailed(
  { name, hint }: EveryHost,
  drifting: readonly (readonly [string, Verdict])[],
): Problem {
  const seen = drifting.map(([host, verdict]) => `${host}: ${describeVerdict(verdict)}`).join('; ');
  const hints = drifting.map(([, verdict]) => ownHint(verdict) ?? hint);
  return new Failure(`${name}: ${seen}`, { hint: [...new Set(hints)].join('\n') });
}

/**
 * What to do about what was seen on one host, where that is another thing than for the condition.
 */
function ownHint(verdict: Verdict): string | undefined {
  return verdict.is === 'drift' && verdict.change instanceof Problem ? verdict.change.hint : undefined;
}

function preconditionUnknown({ name }: EveryHost, missing: ReadonlyMap<string, unknown>): Problem {
  const hosts = [...missing.keys()];
  const why = [...missing].map(([host, error]) => reason(host, error)).join('; ');
  return new Failure(`${name}: unknown, because ${hosts.join(', ')} could not be checked: ${why}`, {
    hint: `run again when ${hosts.join(' and ')} ${hosts.length === 1 ? 'answers' : 'answer'}. If you know that what must not run is stopped there, and does not start by itself: --assume-stopped ${hosts.join(',')}`,
  });
}

function reason(host: string, error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.startsWith(`${host}: `) ? text : `${host}: ${text}`;
}
