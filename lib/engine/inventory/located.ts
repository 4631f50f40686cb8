import type { Place } from '../problem/problem.ts';

/**
 * A value of a YAML file with its place: `at` is the place of the value, `keyAt` the place of its
 * key.
 */
export type Located = LocatedScalar | LocatedList | LocatedMap;

export interface LocatedScalar {
  readonly kind: 'scalar';
  readonly at: Place;
  readonly value: string | number | bigint | boolean | null;
}

interface LocatedList {
  readonly kind: 'list';
  readonly at: Place;
  readonly items: readonly Located[];
}

export interface LocatedMap {
  readonly kind: 'map';
  readonly at: Place;
  readonly entries: ReadonlyMap<string, LocatedEntry>;
}

export interface LocatedEntry {
  readonly keyAt: Place;
  readonly value: Located;
}

export type Path = readonly PropertyKey[];

/** A path as messages show it: `network.l1_rpc_url`. */
export function pathName(path: Path): string {
  return path.map(String).join('.').replaceAll('\n', '\\n');
}

/** The plain value. Keys become own properties, also `__proto__`. */
export function plain(located: Located): unknown {
  if (located.kind === 'scalar') return located.value;
  if (located.kind === 'list') return located.items.map(plain);
  return Object.fromEntries([...located.entries].map(([key, { value }]) => [key, plain(value)]));
}

/** A plain value with one place for all of it. */
export function locate(value: unknown, at: Place): Located {
  if (Array.isArray(value)) return { kind: 'list', at, items: value.map((item) => locate(item, at)) };
  if (typeof value !== 'object' || value === null)
    return { kind: 'scalar', at, value: value as LocatedScalar['value'] };
  const entries = Object.entries(value).map(
    ([key, inner]) => [key, { keyAt: at, value: locate(inner, at) }] as const,
  );
  return { kind: 'map', at, entries: new Map(entries) };
}

/**
 * `over` laid over `base`: maps are merged deeply, any other value replaces. Each value keeps its
 * place.
 */
export function merge(base: Located, over: Located | undefined): Located {
  if (over === undefined) return base;
  if (base.kind !== 'map' || over.kind !== 'map') return over;
  const entries = new Map(base.entries);
  for (const [key, { keyAt, value }] of over.entries) {
    const below = entries.get(key);
    entries.set(key, { keyAt, value: below ? merge(below.value, value) : value });
  }
  return { kind: 'map', at: over.at, entries };
}

/** The value at a path, or undefined. */
export function valueAt(located: Located | undefined, path: Path): Located | undefined {
  return path.reduce<Located | undefined>((value, step) => child(value, step)?.value, located);
}

/** The plain scalar at a path, or undefined. */
export function scalarAt(located: Located | undefined, path: Path): LocatedScalar['value'] | undefined {
  const value = valueAt(located, path);
  return value?.kind === 'scalar' ? value.value : undefined;
}

/** The entries of the map at a path; none where it is not a map. */
export function entriesAt(located: Located | undefined, path: Path): LocatedMap['entries'] {
  const value = valueAt(located, path);
  return value?.kind === 'map' ? value.entries : new Map();
}

/**
 * The place of the key at a path; of the nearest key or value above it where the key does not
 * exist.
 */
export function keyPlace(located: Located, path: Path): Place {
  let place = located.at;
  let value: Located | undefined = located;
  for (const step of path) {
    const entry = child(value, step);
    if (entry === undefined) break;
    place = entry.keyAt;
    value = entry.value;
  }
  return place;
}

/**
 * The place of the value at a path; of the nearest key above it where the value does not exist.
 */
export function valuePlace(located: Located, path: Path): Place {
  return valueAt(located, path)?.at ?? keyPlace(located, path);
}

/** Every scalar with its path, in the order of the file. */
export function* scalars(
  located: Located,
  path: Path = [],
): Generator<{ path: Path; scalar: LocatedScalar }> {
  if (located.kind === 'scalar') yield { path, scalar: located };
  else if (located.kind === 'list')
    for (const [i, item] of located.items.entries()) yield* scalars(item, [...path, i]);
  else for (const [key, entry] of located.entries) yield* scalars(entry.value, [...path, key]);
}

function child(value: Located | undefined, step: PropertyKey): LocatedEntry | undefined {
  if (value?.kind === 'map') return value.entries.get(String(step));
  const item = value?.kind === 'list' ? value.items[Number(step)] : undefined;
  return item && { keyAt: item.at, value: item };
}
