import { ConnectionLost } from '../../host/connection-errors.ts';
import type { Writer } from '../../host/host.ts';
import { CommandFailed } from '../../host/output.ts';
import { beat, beatLock, breakLock, type LockAnswer, releaseLock, takeLock } from './lock.ts';
import type { LockHolder } from './lock-holder.ts';
import { LockRefused } from './refused.ts';
import { type LockWait, waitingFor } from './wait.ts';

/** A host to lock. */
export interface LockedHost {
  readonly name: string;
  readonly writer: Writer;
  /** The host's clock minus this machine's. Seconds. */
  readonly clockOffset: number;
}

/** The locks of all hosts of a run. */
export interface Locks {
  /**
   * Whether another run ended on a host after this time (seconds since 1970). Earlier checks are
   * outdated then.
   */
  endedSince(time: number): boolean;
  /** Whether the host of this name is locked by this run. */
  has(host: string): boolean;
  /**
   * Asks the hosts again.
   *
   * @returns the hosts of which this run has lost the lock, or may have lost it
   */
  taken(): Promise<readonly string[]>;
  /**
   * @param closing the last line of a host's journal, if it has one
   */
  release(closing?: (host: string) => string | undefined): Promise<void>;
}

interface LockOptions {
  /** Take locks from other holders. */
  readonly breaks: boolean;
  /** Called when another run has taken a lock from this one. */
  lost(host: string): void;
  /** Called with the reason when a host cannot be locked: nothing may be changed there. */
  without(host: string, why: string): void;
}

/**
 * Takes the locks of all hosts, or none. The first host's lock comes first, so that one of two
 * runs on the same hosts gets all. A host that cannot keep a lock is left out.
 *
 * @throws LockRefused with the holder, its start, its machine and its playbook
 */
export async function lockHosts(
  hosts: readonly LockedHost[],
  own: LockHolder,
  options: LockOptions,
): Promise<Locks> {
  const held: LockedHost[] = [];
  const ends: number[] = [];
  const take = async (host: LockedHost): Promise<void> => {
    const answer = await askOrLeaveOut(host, own, options);
    if (!answer) return;
    if (!answer.taken) throw new LockRefused(host.name, answer);
    held.push(host);
    ends.push(answer.lastEnd - host.clockOffset);
  };
  const stopBeating = beatAll(held, own, options.lost);
  const release: Locks['release'] = async (closing) => {
    stopBeating();
    await Promise.allSettled(
      held.map(({ name, writer }) => releaseLock(writer, own, { closing: closing?.(name) })),
    );
  };
  try {
    await firstAlone(hosts, take);
  } catch (error) {
    await release();
    throw error;
  }
  return {
    endedSince: (time) => ends.some((end) => end >= Math.floor(time) - 1),
    has: (name) => held.some((host) => host.name === name),
    taken: async () => {
      const ours = await Promise.all(held.map(({ writer }) => beatLock(writer, own).catch(() => false)));
      return held.flatMap(({ name }, at) => (ours[at] ? [] : [name]));
    },
    release,
  };
}

/**
 * The same, and waits for the locks of other runs. A run that waits holds none of these.
 *
 * @param wait undefined: a lock that another run has is an error at once
 * @returns the locks, and the seconds that were waited for them; undefined where the wait was
 * interrupted
 * @throws LockRefused
 */
export function awaitLocks(
  hosts: readonly LockedHost[],
  own: LockHolder,
  options: LockOptions,
  wait: LockWait = { most: 0, interrupt: new AbortController().signal, waits: () => {} },
): Promise<{ readonly had: Locks; readonly seconds: number } | undefined> {
  const attempt = () => lockHosts(hosts, own, options);
  return waitingFor(attempt, (error) => error instanceof LockRefused, wait);
}

/**
 * Takes the first lock before the others, and throws the first refusal only after all have
 * answered.
 */
async function firstAlone(
  hosts: readonly LockedHost[],
  take: (host: LockedHost) => Promise<void>,
): Promise<void> {
  const [first, ...rest] = hosts;
  if (first) await take(first);
  const taken = await Promise.allSettled(rest.map(take));
  const refused = taken.find((result) => result.status === 'rejected');
  if (refused) throw refused.reason;
}

/**
 * @returns undefined for a host that cannot keep a lock, or is lost
 */
async function askOrLeaveOut(
  host: LockedHost,
  own: LockHolder,
  { breaks, without }: LockOptions,
): Promise<LockAnswer | undefined> {
  try {
    return await ask(host, own, breaks);
  } catch (error) {
    // A lost connection is reported at the first change.
    if (!(error instanceof ConnectionLost)) without(host.name, cannotLock(error));
    return undefined;
  }
}

async function ask({ writer }: LockedHost, own: LockHolder, breaks: boolean): Promise<LockAnswer> {
  const answer = await takeLock(writer, own);
  if (answer.taken || !breaks) return answer;
  await breakLock(writer, answer.holder);
  return takeLock(writer, own);
}

/**
 * Sends the heartbeats of locks.
 *
 * @param held the hosts with a lock, also those that are added later
 * @returns ends it
 */
function beatAll(held: readonly LockedHost[], own: LockHolder, lost: (host: string) => void): () => void {
  const timer = setInterval(() => {
    for (const { name, writer } of held) {
      // A lost connection is reported elsewhere.
      beatLock(writer, own).then(
        (ours) => ours || lost(name),
        () => {},
      );
    }
  }, beat * 1000);
  timer.unref();
  return () => clearInterval(timer);
}

function cannotLock(error: unknown): string {
  const said = error instanceof CommandFailed ? error.output.stderr.trim().split('\n').at(-1) : undefined;
  return `its lock cannot be taken: ${said || (error instanceof Error ? error.message : String(error))}`;
}
