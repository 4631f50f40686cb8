import type { Facts } from '../host/facts/facts.ts';
import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { selectHosts } from '../inventory/pattern.ts';
import { exitCode, Problem, Problems } from '../problem/problem.ts';
import { type Resource, task } from '../resource/resource.ts';
import type { Context, Role } from '../resource/role.ts';
import { didYouMean } from '../text/suggest.ts';
import type { TaskRun } from './host-run.ts';
import type { Play, Playbook } from './playbook.ts';
import type { Turns } from './rolling.ts';
import type { RunOptions } from './run-options.ts';

/**
 * Turns the roles of a playbook into the resources of one host, in order.
 *
 * @param options the hosts of the run, and whether a role is part of it
 * @throws Problem where a role cannot make its resources from the variables
 */
export async function taskRunsFor<V>(
  playbook: Playbook<V>,
  inventory: Inventory<V>,
  target: InventoryHost<V>,
  facts: Facts,
  { hosts, selects, given = {} }: Pick<RunOptions, 'hosts' | 'selects' | 'given'>,
): Promise<TaskRun[]> {
  const includes = (host: string, role: string) => hosts.has(host) && selects(role);
  const own = playbook.plays.filter((play) => playHosts(play, inventory).has(target.name));
  const roles = new Set(own.flatMap((play) => play.roles.map(({ name }) => name)).filter(selects));
  const context = { host: target, vars: target.vars, facts, hosts: inventory.hosts, includes, given, roles };
  const taskRuns: TaskRun[] = [];
  // A host of two groups may have a role in two plays, with the same resources.
  const done = new Set<string>();
  const plays = playbook.plays.filter((each) => playHosts(each, inventory).has(target.name));
  for (const [at, play] of plays.entries()) {
    const next = plays[at + 1];
    // A role that the next play has, too, is part of a turn there.
    const waits = next && coveredBy(turnsOf(next, inventory), inventory).has(target.name) ? next.roles : [];
    // By name: in a rollback the same role is another object in each play.
    const waiting = new Set(waits.map(({ name }) => name));
    for (const role of play.roles.filter(
      ({ name }) => selects(name) && !done.has(name) && !waiting.has(name),
    )) {
      done.add(role.name);
      for (const resource of await resourcesOf(role, context)) {
        const task = { host: target.name, play: play.name, role: role.name, resource: resource.name };
        taskRuns.push({ task, resource, seen: undefined, seenIn: -1, reads: new Set() });
      }
    }
  }
  return taskRuns;
}

/**
 * A role that does not fit a host fails on that host, when it is reached. Other hosts continue.
 *
 * @throws Problem where the role itself is wrong, or its variables
 */
async function resourcesOf<V>(role: Role<V>, context: Context<V>): Promise<readonly Resource[]> {
  const { name } = context.host;
  try {
    const made: unknown = await role.resources(context);
    refuseOthers(role.name, made);
    return made;
  } catch (error) {
    if (!(error instanceof Problem || error instanceof Problems)) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Problem(`role ${role.name} cannot make its resources for ${name}: ${why}`, { cause: error });
    }
    if (error instanceof Problems || error.code === exitCode.badInput) throw error;
    const refuse = () => Promise.reject(error);
    return [task(`${name} is fit for it`, { check: refuse })];
  }
}

/**
 * @throws Problem where a role of somebody's own gives anything but a list of resources
 */
function refuseOthers(role: string, made: unknown): asserts made is readonly Resource[] {
  if (!Array.isArray(made)) throw new Problem(`role ${role} gives no list of resources: write […]`);
  const at = made.findIndex((each) => typeof Object(each).check !== 'function');
  if (at === -1) return;
  throw new Problem(`entry ${at + 1} in the list of role ${role} is no resource`, {
    hint: 'one that is not for every host: ...(condition ? [file(…)] : [])',
  });
}

/** The turns of a play, where the inventory has the hosts at which they are taken. */
export function turnsOf<V>({ turns }: Play<V>, { hosts }: Inventory<V>): Turns<V> | undefined {
  return hosts.some(({ groups }) => groups.includes(turns?.at ?? '')) ? turns : undefined;
}

export function coveredBy<V>(turns: Turns<V> | undefined, { hosts }: Inventory<V>): Set<string> {
  return new Set(hosts.filter(({ groups }) => turns && groups.includes(turns.of)).map(({ name }) => name));
}

/** The names of the hosts of a play. An optional one has those of its groups that there are. */
export function playHosts<V>(play: Play<V>, inventory: Inventory<V>): Set<string> {
  const isThere = (group: string) => inventory.hosts.some(({ groups }) => groups.includes(group));
  const pattern = play.optional ? play.hosts.split(',').filter(isThere).join(',') : play.hosts;
  return new Set(pattern === '' ? [] : selectHosts(inventory, pattern).map((host) => host.name));
}

/**
 * The hosts of a run on which a play has something to do, in the order of the inventory.
 *
 * @param options the hosts of the run; with `selects`, only those with a role that is part of it
 */
export function targetsOf<V>(
  playbook: Playbook<V>,
  inventory: Inventory<V>,
  { hosts, selects = () => true }: Pick<RunOptions, 'hosts'> & Partial<Pick<RunOptions, 'selects'>>,
): InventoryHost<V>[] {
  const plays = playbook.plays.filter(({ roles }) => roles.some(({ name }) => selects(name)));
  const members = new Set(plays.flatMap((play) => [...playHosts(play, inventory)]));
  return inventory.hosts.filter(({ name }) => hosts.has(name) && members.has(name));
}

/**
 * Leaves out everything before a resource. A host without it starts at the role that has it
 * elsewhere.
 *
 * @param title of a resource, as `--list-tasks` shows it
 * @param byHost the tasks of each host
 * @throws Problem where no host has such a resource
 */
export function startingAt<V>(
  title: string,
  byHost: readonly (readonly TaskRun[])[],
  playbook: Playbook<V>,
): (taskRuns: readonly TaskRun[]) => readonly TaskRun[] {
  const all = byHost.flat();
  const first = all.find(({ task }) => task.resource === title);
  if (!first) {
    const titles = [...new Set(all.map(({ task }) => task.resource))];
    throw new Problem(`no task is called "${title}"`, {
      hint: suggestion(title, titles) ?? '--list-tasks shows all titles',
    });
  }
  const order = playbook.plays.flatMap((play) => play.roles.map((role) => `${play.name}\0${role.name}`));
  const place = ({ task }: TaskRun): number => order.indexOf(`${task.play}\0${task.role}`);
  return (taskRuns) => {
    const at = taskRuns.findIndex(({ task }) => task.resource === title);
    return at >= 0 ? taskRuns.slice(at) : taskRuns.filter((taskRun) => place(taskRun) >= place(first));
  };
}

/** A similar title. The list of all titles would be too long. */
function suggestion(title: string, titles: readonly string[]): string | undefined {
  const hint = didYouMean(title, titles);
  return hint?.startsWith('did you mean') ? hint : undefined;
}
