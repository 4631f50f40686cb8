import { type Place, Problem } from '../problem/problem.ts';
import { didYouMean } from '../text/suggest.ts';
import { entriesAt, type Located, type LocatedEntry, valueAt } from './located.ts';

/** The keys of a group that name no host. */
export const settingsOfGroup: readonly string[] = ['vars', 'children', 'hosts'];

/** One group of an inventory, unchecked. */
export interface OutlinedGroup {
  readonly name: string;
  /** Variables of its hosts, and of those of its children. */
  readonly vars: Located | undefined;
  /** The hosts that it names itself, in the order of the file. */
  readonly hosts: ReadonlyMap<string, LocatedEntry>;
  /** `cmd:COMMAND`, which names further hosts and has not run yet. */
  readonly command: { readonly text: string; readonly at: Place } | undefined;
  readonly children: readonly { readonly name: string; readonly at: Place }[];
}

/** The groups of an inventory, and which of them are within others. */
export interface GroupTree {
  /** By name, in the order of the file. */
  readonly groups: ReadonlyMap<string, OutlinedGroup>;
  /** The groups that a group is within, at any depth, without the group itself. */
  above(group: string): ReadonlySet<string>;
  /** A group called all; children that do not exist, or that the group is within. */
  readonly problems: readonly Problem[];
}

/** Reads the groups of an inventory. A child with a problem is left out of the tree. */
export function groupTree(top: Located): GroupTree {
  const groups = new Map(
    [...entriesAt(top, ['groups'])].map(([name, { value }]) => [name, group(name, value)]),
  );
  const parents = new Map<string, Set<string>>();
  const above = (name: string): ReadonlySet<string> => {
    const direct = [...(parents.get(name) ?? [])];
    return new Set(direct.flatMap((parent) => [parent, ...above(parent)]));
  };
  const problems = namedAll(top);
  for (const parent of groups.values()) {
    for (const { name, at: where } of parent.children) {
      if (!groups.has(name)) {
        problems.push(unknownChild(parent.name, name, where, groups));
      } else if (name === parent.name || above(parent.name).has(name)) {
        const why = name === parent.name ? 'itself' : `${parent.name}, which is within ${name}`;
        const hint = 'leave one of the two out of children';
        problems.push(new Problem(`group ${name} cannot be a child of ${why}`, { where, hint }));
      } else parents.set(name, (parents.get(name) ?? new Set()).add(parent.name));
    }
  }
  return { groups, above, problems };
}

/** A pattern `all` means every host: a play or a limit would not mean the group. */
function namedAll(top: Located): Problem[] {
  const where = entriesAt(top, ['groups']).get('all')?.keyAt;
  if (!where) return [];
  const hint = 'give it another name; variables of all hosts are under vars, beside groups';
  return [new Problem('no group can be called all: in a host pattern that means all hosts', { where, hint })];
}

function group(name: string, value: Located): OutlinedGroup {
  const children = valueAt(value, ['children']);
  const command = valueAt(value, ['hosts']);
  return {
    name,
    vars: valueAt(value, ['vars']),
    hosts: new Map([...entriesAt(value, [])].filter(([key]) => !settingsOfGroup.includes(key))),
    command:
      command?.kind === 'scalar' && typeof command.value === 'string'
        ? { text: command.value, at: command.at }
        : undefined,
    children: (children?.kind === 'list' ? children.items : []).flatMap((item) =>
      item.kind === 'scalar' && typeof item.value === 'string' ? { name: item.value, at: item.at } : [],
    ),
  };
}

function unknownChild(
  parent: string,
  name: string,
  where: Place,
  groups: ReadonlyMap<string, OutlinedGroup>,
): Problem {
  const isHost = [...groups.values()].some(({ hosts }) => hosts.has(name));
  const hint = isHost
    ? `${name} is a host: write it as a key of ${parent}, ${name}:`
    : didYouMean(
        name,
        [...groups.keys()].filter((other) => other !== parent),
      );
  return new Problem(`groups.${parent}.children names ${name}, and there is no such group`, { where, hint });
}
