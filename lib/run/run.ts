import { ConnectionLost } from '../host/connection.ts';
import type { Facts } from '../host/facts.ts';
import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { selectHosts } from '../inventory/pattern.ts';
import { exitCode, Problem } from '../problem.ts';
import { describeVerdict, type Resource, task } from '../resource/resource.ts';
import type { Context, Role } from '../resource/role.ts';
import { converge } from './converge.ts';
import type { HostSummary, Listener } from './events.ts';
import { HostRun, type Item } from './host-run.ts';
import { mapWithForks } from './limit.ts';
import type { Play, Playbook } from './playbook.ts';
import type { Session } from './session.ts';

export interface RunOptions {
  /** Look and tell, change nothing. */
  readonly check: boolean;
  /** Hosts worked on at once. */
  readonly forks: number;
  /** Names of the hosts to work on; a role still sees all hosts of the inventory. */
  readonly hosts: ReadonlySet<string>;
  /** Names of the roles to run; undefined for all. */
  readonly roles: ReadonlySet<string> | undefined;
  /** Aborted on the first Ctrl-C: running changes are finished, no new ones begun. */
  readonly interrupt: AbortSignal;
}

export interface RunResult {
  readonly hosts: readonly HostSummary[];
  readonly interrupted: boolean;
}

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
  const targets = inventory.hosts.filter((host) => options.hosts.has(host.name));
  tell({
    type: 'run-started',
    playbook: playbook.name,
    inventory: inventory.name,
    check: options.check,
    hosts: targets.map((host) => host.name),
  });

  const stopping = () => tell({ type: 'stopping' });
  options.interrupt.addEventListener('abort', stopping, { once: true });
  const sessions: Session[] = [];
  const unreachable = new Map<string, number>();
  const hosts = new Map<string, HostRun>();
  try {
    await mapWithForks(targets, options.forks, async (target) => {
      const began = performance.now();
      const seconds = () => (performance.now() - began) / 1000;
      let session: Session;
      try {
        session = await open(target);
      } catch (error) {
        unreachable.set(target.name, seconds());
        tell({ type: 'host-unreachable', host: target.name, error });
        return;
      }
      sessions.push(session);
      tell({ type: 'host-connected', host: target.name, seconds: seconds() });
      const host = new HostRun(target.name, session, tell);
      hosts.set(target.name, host);
      await prepare(host, playbook, inventory, target, session.facts, options);
    });

    const reachable = targets.flatMap((target) => hosts.get(target.name) ?? []);
    if (options.check) reachable.forEach(report);
    else await changeAll(playbook, inventory, reachable, [...unreachable.keys()], options, tell);
  } finally {
    options.interrupt.removeEventListener('abort', stopping);
    await Promise.allSettled(sessions.map((session) => session.close()));
  }

  const summaries = targets.flatMap((target): HostSummary[] => {
    const host = hosts.get(target.name);
    const seconds = unreachable.get(target.name);
    if (seconds !== undefined) return [summaryOfUnreachable(target.name, seconds)];
    return host ? [host.summary()] : [];
  });
  const interrupted = options.interrupt.aborted;
  tell({ type: 'run-finished', hosts: summaries, seconds: (performance.now() - start) / 1000, interrupted });
  return { hosts: summaries, interrupted };
}

/** Turns roles into resources and looks at all of them, of all plays, in one go. */
async function prepare<V>(
  host: HostRun,
  playbook: Playbook<V>,
  inventory: Inventory<V>,
  target: InventoryHost<V>,
  facts: Facts,
  options: RunOptions,
): Promise<void> {
  await host.timed(async () => {
    const context = { host: target, vars: target.vars, facts, hosts: inventory.hosts };
    const items: Item[] = [];
    for (const play of playbook.plays) {
      if (!playHosts(play, inventory).has(target.name)) continue;
      for (const role of play.roles.filter((r) => selected(r, options))) {
        for (const resource of await resourcesOf(role, context)) {
          const step = { host: target.name, play: play.name, role: role.name, resource: resource.name };
          items.push({ step, resource, seen: undefined });
        }
      }
    }
    host.items = items;
    await host.look(items);
  });
}

/** A host that a role cannot be made to fit fails when that role's turn comes; other hosts go on. */
async function resourcesOf<V>(role: Role<V>, context: Context<V>): Promise<readonly Resource[]> {
  try {
    return await role.resources(context);
  } catch (error) {
    if (!(error instanceof Problem) || error.code === exitCode.badInput) throw error;
    const refuse = () => Promise.reject(error);
    return [task(`${context.host.name} is fit for it`, { check: refuse, apply: refuse })];
  }
}

function selected<V>(role: Role<V>, options: RunOptions): boolean {
  return options.roles?.has(role.name) ?? true;
}

function playHosts<V>(play: Play<V>, inventory: Inventory<V>): Set<string> {
  return new Set(selectHosts(inventory, play.hosts).map((host) => host.name));
}

/** Check mode: tells what was seen, in order. An unmet `must` is a failure now as it would be then. */
function report(host: HostRun): void {
  for (const { step, resource, seen } of host.items) {
    if (seen?.is === 'error' && seen.error instanceof ConnectionLost) {
      // All that follows was lost with it and would only say so again.
      host.done(step, 'failed', { error: seen.error });
      host.stop(step.play, 'the connection was lost');
      return;
    }
    if (!seen || seen.is === 'error') host.done(step, 'failed', { error: seen?.error });
    else if (seen.is === 'ok') host.done(step, 'ok');
    else if (seen.is === 'unknown') host.done(step, 'unknown', { note: `until ${seen.until}` });
    else if (resource.expects === 'should') host.done(step, 'warning', { note: describeVerdict(seen) });
    else if (resource.expects === 'must') host.done(step, 'failed', { note: describeVerdict(seen), error: undefined });
    else host.done(step, 'pending', { differences: seen.differences, note: seen.note });
  }
}

async function changeAll<V>(
  playbook: Playbook<V>,
  inventory: Inventory<V>,
  hosts: readonly HostRun[],
  unreachable: readonly string[],
  options: RunOptions,
  tell: Listener,
): Promise<void> {
  const interrupted = () => options.interrupt.aborted;
  /** Plays that did not come to a good end on some host, and why. */
  const broken = new Map<string, string>();

  for (const play of playbook.plays) {
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
        const items = itemsOf(host, play);
        if (moved) await host.look(items);
        const why = await converge(host, items, interrupted);
        if (why) host.stop(play.name, why);
      }),
    );
    const stopped = ready.filter((host) => host.stopped);
    if (stopped.length > 0) {
      broken.set(play.name, stopped.map((host) => `${host.name}: ${host.stopped}`).join('; '));
    }
  }
}

function itemsOf<V>(host: HostRun, play: Play<V>): Item[] {
  return host.items.filter((item) => item.step.play === play.name);
}

function summaryOfUnreachable(host: string, seconds: number): HostSummary {
  const counts = { ok: 0, changed: 0, pending: 0, unknown: 0, warning: 0, failed: 0 };
  return { host, counts, seconds, unreachable: true, stopped: 'unreachable', roundTrips: 0 };
}
