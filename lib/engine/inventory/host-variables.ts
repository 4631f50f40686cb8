import { describePlace, Problem } from '../problem/problem.ts';
import type { GroupTree } from './group-tree.ts';
import { decides, type GroupConflict, mergeGroups } from './group-variables.ts';
import {
  entriesAt,
  type Located,
  type LocatedMap,
  merge,
  pathName,
  scalarAt,
  valuePlace,
} from './located.ts';
import type { NamedHost } from './outlined-hosts.ts';

/** Variables of one source, such as a group. */
export interface Layer {
  /** Where they are, in words: `vars`, `group rpc`, `host rpc-1`. */
  readonly of: string;
  /** The hosts that have them; undefined for all hosts. */
  readonly hosts: readonly string[] | undefined;
  readonly vars: Located;
}

/** A host with its variables. */
export interface OutlinedHost extends NamedHost {
  /** Its variables, merged. */
  readonly vars: Located;
  /** Their sources, each over those before it. */
  readonly layers: readonly Layer[];
}

/** The sources of variables that are the same for every host. */
export interface SharedLayers {
  /** Below those of groups and hosts. */
  readonly all: readonly Layer[];
  /** The same, merged. */
  readonly vars: LocatedMap;
  /** Over all others. */
  readonly over: readonly Layer[];
}

/** The variables of each host, and the conflicts between its groups. */
export function withVariables(
  hosts: readonly NamedHost[],
  tree: GroupTree,
  { all, vars, over }: SharedLayers,
): { readonly hosts: readonly OutlinedHost[]; readonly problems: readonly Problem[] } {
  const conflicts = new ConflictList();
  const above = overlay(over.map((layer) => layer.vars));
  const ofGroups = variablesOfGroups(hosts, tree, vars);
  const outlined = hosts.map((host) => {
    const { name, own } = host;
    const groups = ofGroups(host.groups);
    const region = own.entries.get('region');
    const entries = new Map([...(region ? [['region', region] as const] : []), ...entriesAt(own, ['vars'])]);
    const ofHost: Located = { kind: 'map', at: vars.at, entries };
    for (const conflict of groups.conflicts)
      if (!decides(ofHost, conflict) && !decides(above, conflict)) conflicts.add(conflict, name);
    const layers = [...all, ...groups.layers, { of: `host ${name}`, hosts: [name], vars: ofHost }, ...over];
    return { ...host, layers, vars: { ...merge(merge(groups.vars, ofHost), above), at: vars.at } };
  });
  return { hosts: outlined, problems: [...hosts.flatMap(twoRegions), ...conflicts.problems()] };
}

/** `region` of a host is short for `vars.region`: one of two would have no effect. */
function twoRegions({ name, own }: NamedHost): Problem[] {
  const [short, long] = [scalarAt(own, ['region']), scalarAt(own, ['vars', 'region'])];
  if (short === undefined || long === undefined || short === long) return [];
  return [
    new Problem(`${name} has two regions: ${String(short)}, and ${String(long)} in its vars`, {
      where: valuePlace(own, ['vars', 'region']),
      hint: 'keep one of them',
    }),
  ];
}

/** Many hosts are in the same groups: these are merged once. */
function variablesOfGroups(hosts: readonly NamedHost[], { groups, above }: GroupTree, all: LocatedMap) {
  const known = new Map<string, ReturnType<typeof find>>();
  const layerOf = (group: string) => {
    const vars = groups.get(group)?.vars;
    if (vars?.kind !== 'map') return [];
    const within = hosts.filter((host) => host.groups.includes(group)).map(({ name }) => name);
    return [{ of: `group ${group}`, group, hosts: within, vars, depth: above(group).size }];
  };
  const find = (names: readonly string[]) => {
    // A group is within more groups than each of those that it is within.
    const layers = names.flatMap(layerOf).toSorted((one, other) => one.depth - other.depth);
    const settings = layers.map(({ group, vars }) => ({ group, entry: { keyAt: vars.at, value: vars } }));
    const { vars, conflicts } = mergeGroups(settings, (group, other) => above(group).has(other));
    return { layers, conflicts, vars: merge(all, vars) };
  };
  return (names: readonly string[]) => {
    const key = names.join('\n');
    const found = known.get(key) ?? find(names);
    known.set(key, found);
    return found;
  };
}

/** Variables laid over each other, the later over the earlier. */
export function overlay(layers: readonly Located[]): Located | undefined {
  return layers.reduce<Located | undefined>((base, each) => (base ? merge(base, each) : each), undefined);
}

/** Conflicts between groups, each once, with the hosts that have it. */
class ConflictList {
  readonly #found = new Map<string, { readonly conflict: GroupConflict; readonly hosts: string[] }>();

  add(conflict: GroupConflict, host: string): void {
    const { path, one, other } = conflict;
    const key = JSON.stringify([path.map(String), one.group, other.group]);
    const known = this.#found.get(key);
    if (known) known.hosts.push(host);
    else this.#found.set(key, { conflict, hosts: [host] });
  }

  problems(): Problem[] {
    return [...this.#found.values()].map(({ conflict: { path, one, other }, hosts: [first, ...more] }) => {
      const name = pathName(path);
      const whose = more.length > 0 ? `${first} and ${more.length} more of its hosts` : `${first}`;
      const what = `${name} of ${whose} differs between its groups: ${other.group} sets it here, and ${one.group} at ${describePlace(one.entry.value.at)}`;
      const hint = `set it in the vars of ${first}; or say which group counts: name ${other.group} in the children of ${one.group}, and ${other.group} is over it`;
      return new Problem(what, { where: other.entry.value.at, hint });
    });
  }
}
