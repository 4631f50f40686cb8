import { describePlace, type Place } from '../problem/problem.ts';
import { printable } from '../text/printable.ts';
import type { OutlinedHost } from './host-variables.ts';
import { type Located, type Path, pathName, plain, valueAt } from './located.ts';
import { shownValue } from './shown-value.ts';

/** One place that gives a variable. */
interface VariableSource {
  /** In words: `vars`, `group rpc`, `host rpc-1`. */
  readonly of: string;
  readonly where: Place;
  /** Its value there, without anything secret. */
  readonly shown: string;
}

/** A variable of a host with the places that give it, the one that counts first. */
export interface SourcedVariable {
  /** Its key: `network.l1_rpc_url`. */
  readonly name: string;
  /** Whether the variables of a group or of the host decide it, and not those of all hosts. */
  readonly isOwn: boolean;
  readonly sources: readonly [VariableSource, ...VariableSource[]];
}

/** The variables of a host at a path and below it, in their order; lists count as one value. */
export function sourcedVariables(host: OutlinedHost | undefined, path: Path): readonly SourcedVariable[] {
  const value = host && valueAt(host.vars, path);
  if (!value) return [];
  return [...leaves(value, path)].flatMap(([leaf, { at }]) => {
    const found = host.layers.flatMap(({ of, hosts, vars }) => {
      const there = valueAt(vars, leaf);
      return there ? [{ of, isOwn: hosts !== undefined, there }] : [];
    });
    // Of groups with the same value one counts, and not always the last.
    const strongest = found.findLast(({ there }) => there.at === at);
    const others = found.filter((each) => each !== strongest).reverse();
    const sources = [strongest ?? [], others].flat().map(({ of, there }) => ({
      of,
      where: there.at,
      shown: shownValue(leaf, plain(there)),
    }));
    const [first, ...rest] = sources;
    if (!first) return [];
    return { name: pathName(leaf), isOwn: strongest?.isOwn ?? false, sources: [first, ...rest] as const };
  });
}

/** One line for each variable that a group or the host itself decides: key, value, source, place. */
export function ownVariableLines(variables: readonly SourcedVariable[]): string[] {
  const own = variables.filter(({ isOwn }) => isOwn);
  return own.map(({ name, sources: [{ of, where, shown }] }) =>
    printable(`${name} ${shown} (${of}, ${describePlace(where)})`),
  );
}

function* leaves(value: Located, path: Path): Generator<readonly [Path, Located]> {
  if (value.kind !== 'map' || value.entries.size === 0) yield [path, value];
  else for (const [key, entry] of value.entries) yield* leaves(entry.value, [...path, key]);
}
