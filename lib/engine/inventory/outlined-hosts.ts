import { type Place, Problem } from '../problem/problem.ts';
import type { GroupTree } from './group-tree.ts';
import type { Located, LocatedMap } from './located.ts';
import { pathName } from './located.ts';
import { namePattern, nameRule } from './schema.ts';

/** A host as its groups name it, unchecked. */
export interface NamedHost {
  readonly name: string;
  /** Those that name it, and those that they are within. In the order of the file. */
  readonly groups: readonly string[];
  /** The value of its name: connection settings and own variables. */
  readonly own: LocatedMap;
}

interface Naming {
  readonly groups: readonly string[];
  readonly own: Located;
  readonly where: Place;
}

/**
 * Hosts in the order of the file; JavaScript objects would put numbers first. A host of several
 * groups has its settings in one of them, and the others name it without a value.
 */
export function hostsOf({ groups, above }: GroupTree): {
  readonly hosts: readonly NamedHost[];
  readonly problems: readonly Problem[];
} {
  const named = new Map<string, Naming>();
  const problems: Problem[] = [];
  for (const { name: group, hosts } of groups.values()) {
    for (const [name, { keyAt: where, value: own }] of hosts) {
      const known = named.get(name);
      const fault = nameFault(group, name, where, groups) ?? secondDefinition(name, known, own, where);
      if (fault) problems.push(fault);
      else {
        const groupsOfHost = [...(known?.groups ?? []), group];
        named.set(name, { groups: groupsOfHost, own: known && isEmpty(own) ? known.own : own, where });
      }
    }
  }
  // A command that has not run yet may give its settings.
  const isAsking = [...groups.values()].some(({ command }) => command);
  const hosts = [...named].flatMap(([name, { groups: direct, own, where }]) => {
    const all = new Set(direct.flatMap((group) => [group, ...above(group)]));
    if (own.kind === 'map')
      return { name, groups: [...groups.keys()].filter((group) => all.has(group)), own };
    const hint = `write its settings in one of its groups: ${name}: { address: … }`;
    if (isEmpty(own) && !isAsking) problems.push(new Problem(`host ${name} has no address`, { where, hint }));
    return [];
  });
  return { hosts, problems };
}

function nameFault(
  group: string,
  name: string,
  where: Place,
  groups: GroupTree['groups'],
): Problem | undefined {
  if (name === 'all' || groups.has(name)) {
    const meaning = name === 'all' ? 'all hosts' : 'the group';
    return new Problem(`no host can be called ${name}: in a host pattern that means ${meaning}`, { where });
  }
  if (namePattern.test(name)) return undefined;
  return new Problem(`${pathName(['groups', group, name])}: the name ${nameRule}`, { where });
}

function secondDefinition(name: string, known: Naming | undefined, own: Located, where: Place) {
  if (!known || isEmpty(known.own) || isEmpty(own)) return undefined;
  const what = `host ${name} is defined a second time; the first is in group ${known.groups[0]}`;
  return new Problem(what, { where, hint: `for the same host in both groups, write only ${name}: here` });
}

function isEmpty(value: Located): boolean {
  return value.kind === 'scalar' && value.value === null;
}
