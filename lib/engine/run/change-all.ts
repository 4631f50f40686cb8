import type { Inventory } from '../inventory/inventory.ts';
import { type ChangeOptions, converge } from './converge.ts';
import type { Listener } from './events.ts';
import type { HostRun, Item } from './host-run.ts';
import { mapWithForks } from './limit.ts';
import type { Play, Playbook } from './playbook.ts';
import { playHosts } from './prepare.ts';
import type { RunOptions } from './run-options.ts';

/** Makes the changes in order, play by play. The hosts of a play work in parallel. */
export async function changeAll<V>(
  playbook: Playbook<V>,
  inventory: Inventory<V>,
  hosts: readonly HostRun[],
  unreachable: readonly string[],
  options: ChangeOptions & Pick<RunOptions, 'forks'>,
  emit: Listener,
): Promise<void> {
  /** Plays that failed on a host, with the reason. */
  const broken = new Map<string, string>();

  for (const play of playbook.plays) {
    if (options.stop.aborted) {
      const unfinished = hosts.filter((host) => !host.stopped && host.left().left > 0);
      for (const host of unfinished) host.stop(play.name, 'interrupted');
      return;
    }
    const members = playHosts(play, inventory);
    const lost = unreachable.filter((name) => members.has(name));
    if (lost.length > 0) broken.set(play.name, `${lost.join(', ')} unreachable`);
    const own = hosts.filter((host) => members.has(host.name) && itemsOf(host, play).length > 0);
    const gone = own.filter((host) => host.stopped);
    if (gone.length > 0) broken.set(play.name, `${gone.map((host) => host.name).join(', ')} stopped earlier`);
    const ready = own.filter((host) => !host.stopped);
    if (ready.length === 0) continue;

    const need = play.needs.find((name) => broken.has(name));
    if (need) {
      const why = `it needs "${need}" (${broken.get(need)})`;
      broken.set(play.name, `skipped because ${why}`);
      emit({ type: 'play-skipped', play: play.name, why });
      for (const host of ready) host.stop(play.name, `play "${play.name}" was skipped: ${why}`);
      continue;
    }

    emit({ type: 'play-started', play: play.name, hosts: ready.map((host) => host.name) });
    // A change of an earlier play, on any host, may be visible here.
    const moved = hosts.some((host) => host.changed > 0);
    await mapWithForks(ready, options.forks, (host) =>
      host.timed(async () => {
        if (moved) host.state += 1;
        const why = await converge(host, itemsOf(host, play), options);
        if (why) host.stop(play.name, why);
      }),
    );
    const stopped = ready.filter((host) => host.stopped);
    if (stopped.length === 0) continue;
    const why = stopped.map((host) => `${host.name}: ${host.stopped}`).join('; ');
    broken.set(play.name, why);
    if (!play.anyErrorsFatal) continue;
    for (const host of hosts) if (!host.stopped) host.stop(play.name, `stopped on all hosts: ${why}`);
    return;
  }
}

function itemsOf<V>(host: HostRun, play: Play<V>): Item[] {
  return host.items.filter((item) => item.step.play === play.name);
}
