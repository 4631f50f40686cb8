import type { Inventory } from '../inventory/inventory.ts';
import { type ChangeOptions, converge } from './converge.ts';
import type { Listener } from './events.ts';
import type { HostRun, TaskRun } from './host-run.ts';
import { mapWithForks } from './limit.ts';
import type { Play, Playbook } from './playbook.ts';
import { playHosts } from './prepare.ts';
import { countOf } from './rolling.ts';
import type { RunOptions } from './run-options.ts';
import type { TurnTaking } from './turn-taking.ts';

/**
 * Makes the changes in order, play by play. The hosts of a play work in parallel, unless it is
 * serial.
 */
export async function changeAll<V>(
  playbook: Playbook<V>,
  inventory: Inventory<V>,
  hosts: readonly HostRun[],
  unreachable: readonly string[],
  options: ChangeOptions & Pick<RunOptions, 'forks'> & { readonly turns: TurnTaking<V> },
  emit: Listener,
): Promise<void> {
  /** Plays that failed on a host, with the reason. */
  const broken = new Map<string, string>();

  for (const play of playbook.plays) {
    if (options.stop.aborted) return interrupt(play.name, hosts);
    const members = playHosts(play, inventory);
    const lost = unreachable.filter((name) => members.has(name));
    if (lost.length > 0) broken.set(play.name, `${lost.join(', ')} unreachable`);
    const own = hosts.filter((host) => members.has(host.name) && taskRunsOf(host, play).length > 0);
    const gone = own.filter((host) => host.stopped);
    if (gone.length > 0) broken.set(play.name, `${gone.map((host) => host.name).join(', ')} stopped earlier`);
    const ready = own.filter((host) => !host.stopped);
    if (ready.length === 0) continue;

    const need = play.needs.find((name) => broken.has(name));
    if (need) {
      const why = `it needs "${need}" (${broken.get(need)})`;
      broken.set(play.name, `skipped because ${why}`);
      skip(play.name, ready, why, emit);
      continue;
    }

    emit({ type: 'play-started', play: play.name, hosts: ready.map((host) => host.name) });
    const why = await changePlay(play, hosts, ready, [...lost, ...gone.map((host) => host.name)], options);
    const stopped = ready.filter((host) => host.stopped);
    if (stopped.length > 0)
      broken.set(play.name, stopped.map((host) => `${host.name}: ${host.stopped}`).join('; '));
    const all = why ?? (play.anyErrorsFatal && stopped.length > 0 ? broken.get(play.name) : undefined);
    if (all !== undefined) return stopAll(play.name, hosts, all);
  }
}

function interrupt(play: string, hosts: readonly HostRun[]): void {
  const unfinished = hosts.filter((host) => !host.stopped && host.left().left > 0);
  for (const host of unfinished) host.stop(play, 'interrupted');
}

function stopAll(play: string, hosts: readonly HostRun[], why: string): void {
  for (const host of hosts) if (!host.stopped) host.stop(play, `stopped on all hosts: ${why}`);
}

function skip(play: string, hosts: readonly HostRun[], why: string, emit: Listener): void {
  emit({ type: 'play-skipped', play, why });
  for (const host of hosts) host.stop(play, `play "${play}" was skipped: ${why}`);
}

/**
 * Changes the hosts of a play: at the same time, or in batches.
 *
 * @param gone hosts of the play that are unreachable or stopped earlier: they count as failed
 * @returns why the run ends on all hosts, or undefined
 */
async function changePlay<V>(
  play: Play<V>,
  all: readonly HostRun[],
  ready: readonly HostRun[],
  gone: readonly string[],
  options: ChangeOptions & Pick<RunOptions, 'forks'> & { readonly turns: TurnTaking<V> },
): Promise<string | undefined> {
  // A change of an earlier play, on any host, may be visible here.
  const moved = all.some((host) => host.changed > 0);
  if (moved) for (const host of ready) host.state += 1;
  const order = await options.turns.order(play, ready, moved);
  const failed = () => [...gone, ...ready.filter((host) => host.stopped).map((host) => host.name)];
  const change = (hosts: readonly HostRun[]) =>
    mapWithForks(hosts, options.forks, (host) =>
      host.timed(async () => {
        const why = await converge(host, taskRunsOf(host, play), options);
        if (why) host.stop(play.name, await options.turns.abandon(host, play, why, options));
      }),
    );
  const total = ready.length + gone.length;
  const most = countOf(play.maxFail ?? total, total);
  /** Why the run ends before a part of the order, or after the last one. */
  const endBefore = (at: number) => {
    // With turns, the limits are for hosts in a turn: the others change as if there were none.
    if (options.stop.aborted || (play.turns && (at === 0 || order.length === 1))) return undefined;
    const first = at === 2 && at < order.length && order[1]?.some((host) => host.stopped);
    if (!first && failed().length <= most) return undefined;
    const limit = first ? 'a failure in the first batch ends the run' : `at most ${most} may`;
    return `${failed().join(', ')} failed or cannot be reached in "${play.name}", and ${limit}`;
  };
  for (const [at, hosts] of order.entries()) {
    const why = endBefore(at);
    if (why !== undefined) return why;
    // What the batch before has changed may be visible here.
    if (at > 1) for (const host of hosts) host.state += 1;
    await change(hosts);
  }
  return endBefore(order.length);
}

function taskRunsOf<V>(host: HostRun, play: Play<V>): TaskRun[] {
  return host.taskRuns.filter((taskRun) => taskRun.task.play === play.name);
}
