import type { Inventory } from '../inventory/inventory.ts';
import { type Asking, converge } from './converge.ts';
import type { Listener } from './events.ts';
import type { HostRun, Item } from './host-run.ts';
import { mapWithForks } from './limit.ts';
import type { Play, Playbook } from './playbook.ts';
import { playHosts } from './prepare.ts';
import type { RunOptions } from './run-options.ts';

/** Changes in order, play by play; the hosts of a play at the same time. */
export async function changeAll<V>(
  playbook: Playbook<V>,
  inventory: Inventory<V>,
  hosts: readonly HostRun[],
  unreachable: readonly string[],
  options: RunOptions & Pick<Asking, 'interrupted' | 'whileEveryHost'>,
  tell: Listener,
): Promise<void> {
  const ask: Asking = {
    interrupted: options.interrupted,
    confirmEach: options.confirmEach,
    allows: options.allows,
    whileEveryHost: options.whileEveryHost,
  };
  /** Plays that did not come to a good end on some host, and why. */
  const broken = new Map<string, string>();

  for (const play of playbook.plays) {
    if (ask.interrupted()) {
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
      tell({ type: 'play-skipped', play: play.name, why });
      for (const host of ready) host.stop(play.name, `play "${play.name}" was skipped: ${why}`);
      continue;
    }

    tell({ type: 'play-started', play: play.name, hosts: ready.map((host) => host.name) });
    // What an earlier play changed, on any host, may show here.
    const moved = hosts.some((host) => host.changed > 0);
    await mapWithForks(ready, options.forks, (host) =>
      host.timed(async () => {
        if (moved) host.state += 1;
        const why = await converge(host, itemsOf(host, play), ask);
        if (why) host.stop(play.name, why);
      }),
    );
    const stopped = ready.filter((host) => host.stopped);
    if (stopped.length === 0) continue;
    const why = stopped.map((host) => `${host.name}: ${host.stopped}`).join('; ');
    broken.set(play.name, why);
    if (!play.anyErrorsFatal) continue;
    for (const host of hosts) if (!host.stopped) host.stop(play.name, `nothing is done anywhere: ${why}`);
    return;
  }
}

function itemsOf<V>(host: HostRun, play: Play<V>): Item[] {
  return host.items.filter((item) => item.step.play === play.name);
}
