import { ConnectionLost } from '../host/connection.ts';
import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { exitCode, Problem } from '../problem/problem.ts';
import type { EveryHost } from '../resource/resource.ts';
import { changeAll } from './change-all.ts';
import { notConfirmed } from './converge.ts';
import type { HostSummary, Listener } from './events.ts';
import { Fleet, lockedHost, lockLost } from './fleet.ts';
import { HostRun } from './host-run.ts';
import { mapWithForks } from './limit.ts';
import { type Locks, lockHosts } from './lock/locks.ts';
import { changesSomething, type HostPlan, type Planned, planOf } from './plan.ts';
import type { Playbook } from './playbook.ts';
import { itemsFor, startingAt } from './prepare.ts';
import type { RunOptions, RunResult } from './run-options.ts';
import type { Session } from './session.ts';

/**
 * Runs a playbook: connect, facts, look at everything, then, unless in check mode, change in order, play by play.
 *
 * @param open connects to a host and gathers its facts; its error makes the host unreachable
 * @returns what became of each host, in the order of the inventory. Errors of hosts are told as events.
 * @throws Problem where a role cannot make its resources out of the variables; nothing has been changed then
 */
export async function run<V>(
  playbook: Playbook<V>,
  inventory: Inventory<V>,
  open: (host: InventoryHost<V>) => Promise<Session>,
  options: RunOptions,
  tell: Listener,
): Promise<RunResult> {
  const start = performance.now();
  const startedAt = Date.now() / 1000;
  const targets = inventory.hosts.filter((host) => options.hosts.has(host.name));
  tell({
    type: 'run-started',
    playbook: playbook.name,
    inventory: inventory.name,
    check: options.check,
    hosts: targets.map((host) => host.name),
    ...(options.assumedStopped && options.assumedStopped.size > 0 && { assumedStopped: [...options.assumedStopped] }),
  });

  const stopping = () => tell({ type: 'stopping' });
  options.interrupt.addEventListener('abort', stopping, { once: true });
  const sessions: Session[] = [];
  const unreachable = new Map<string, { readonly seconds: number; readonly error: unknown }>();
  const hosts = new Map<string, HostRun>();
  let plans: readonly HostPlan[] = [];
  let locks: Locks | undefined;
  /** Hosts whose lock another run has taken from this one. */
  const lost = new Set<string>();
  const fleet = new Fleet<V>({
    inventory: inventory.hosts,
    open,
    options,
    hosts,
    whyUnreachable: (host) => unreachable.get(host)?.error,
    locks: () => locks,
    lost: (host) => lost.add(host),
  });
  /** Why a change was not made that needs the lock of every host. */
  let locked: Problem | undefined;
  let declined = false;
  try {
    await mapWithForks(targets, options.forks, async (target) => {
      if (options.interrupt.aborted) return;
      const began = performance.now();
      const seconds = () => (performance.now() - began) / 1000;
      let session: Session;
      try {
        session = await open(target);
      } catch (error) {
        // What was cut short says nothing of the host.
        if (options.interrupt.aborted) return;
        unreachable.set(target.name, { seconds: seconds(), error });
        tell({ type: 'host-unreachable', host: target.name, error });
        return;
      }
      sessions.push(session);
      tell({ type: 'host-connected', host: target.name, seconds: seconds() });
      const host = new HostRun(target.name, session, tell);
      hosts.set(target.name, host);
      await host.timed(async () => {
        host.items = await itemsFor(playbook, inventory, target, session.facts, options.selects);
        // Where it begins can be told only when all hosts' tasks are known.
        if (options.startAt === undefined) await host.lookFirst();
      });
    });
    if (options.startAt !== undefined) await beginAt(options.startAt, playbook, [...hosts.values()]);

    const reachable = targets.flatMap((target) => hosts.get(target.name) ?? []);
    const begins = !options.check && !options.interrupt.aborted;
    if (begins && options.lock && reachable.some((host) => host.isDue)) {
      locks = await lockHosts(
        reachable.map((host) => lockedHost(host.name, host.session)),
        options.lock.holder,
        {
          breaks: options.lock.breaks,
          lost: (host) => lost.add(host),
          without: (name, why) => {
            const host = hosts.get(name);
            host?.stop(host.items[0]?.step.play ?? '', why);
          },
        },
      );
      if (locks.endedSince(startedAt)) await Promise.all(reachable.map((host) => host.look(host.items)));
    }
    const needsPlan = options.check || options.confirm !== undefined || options.refuseStale !== undefined;
    if (needsPlan) {
      const everyHost = (condition: EveryHost) => fleet.look(condition);
      plans = await Promise.all(
        reachable.map(async (host) => ({ host: host.name, tasks: await planOf(host, everyHost) })),
      );
    }
    if (begins) options.refuseStale?.(plans);
    if (options.check) for (const [at, host] of reachable.entries()) report(host, plans[at]?.tasks ?? []);
    else {
      const asks = begins && options.confirm !== undefined && plans.some(changesSomething);
      declined = asks && !(await options.confirm?.(plans));
      const interrupted = () => options.interrupt.aborted || lost.size > 0;
      const whileEveryHost = async (condition: EveryHost, change: () => Promise<void>) => {
        try {
          return await fleet.change(condition, change);
        } catch (error) {
          if (error instanceof Problem && error.code === exitCode.locked) locked ??= error;
          throw error;
        }
      };
      const asking = { ...options, interrupted, whileEveryHost };
      if (!declined) await changeAll(playbook, inventory, reachable, [...unreachable.keys()], asking, tell);
    }
  } catch (error) {
    tell({ type: 'run-failed', error });
    throw error;
  } finally {
    options.interrupt.removeEventListener('abort', stopping);
    await locks?.release();
    await fleet.close();
    await Promise.allSettled(sessions.map((session) => session.close()));
  }

  const summaries = targets.flatMap((target): HostSummary[] => {
    const host = hosts.get(target.name);
    const away = unreachable.get(target.name);
    if (away) return [summaryOfUnreachable(target.name, away.seconds)];
    return [host?.summary() ?? summaryOfInterrupted(target.name)];
  });
  if (lost.size > 0) locked ??= lockLost([...lost]);
  if (locked) {
    const error = locked;
    tell({ type: 'run-failed', error });
    throw error;
  }
  const interrupted = options.interrupt.aborted;
  tell({ type: 'run-finished', hosts: summaries, seconds: (performance.now() - start) / 1000, interrupted });
  declined ||= summaries.some(({ stopped }) => stopped === notConfirmed);
  return { hosts: summaries, interrupted, plans, declined };
}

/** Check mode: tells what would be done, in order. An unmet `must` is a failure now as it would be then. */
function report(host: HostRun, tasks: readonly Planned[]): void {
  for (const { step, outcome, differences, note, error, commands } of tasks) {
    host.done(step, outcome, { differences, note, error, commands });
    if (!(error instanceof ConnectionLost)) continue;
    // All that follows was lost with it and would only say so again.
    host.stop(step.play, 'the connection was lost');
    return;
  }
}

async function beginAt<V>(title: string, playbook: Playbook<V>, hosts: readonly HostRun[]): Promise<void> {
  if (hosts.length === 0) return;
  const rest = startingAt(
    title,
    hosts.map(({ items }) => items),
    playbook,
  );
  for (const host of hosts) host.items = rest(host.items);
  await Promise.all(hosts.map((host) => host.timed(() => host.lookFirst())));
}

const nothing = { ok: 0, changed: 0, pending: 0, unknown: 0, warning: 0, failed: 0 };

function summaryOfUnreachable(host: string, seconds: number): HostSummary {
  return { host, counts: nothing, seconds, unreachable: true, stopped: 'unreachable', roundTrips: 0 };
}

function summaryOfInterrupted(host: string): HostSummary {
  const stopped = 'interrupted before it was looked at';
  return { host, counts: nothing, seconds: 0, unreachable: false, stopped, roundTrips: 0 };
}
