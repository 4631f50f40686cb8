import type { Place } from '../problem/problem.ts';

/** A value of a YAML file that knows where it stands: `at` is the value's place, `keyAt` its key's. */
export type Located = LocatedScalar | LocatedList | LocatedMap;

export interface LocatedScalar {
  readonly kind: 'scalar';
  readonly at: Place;
  readonly value: string | number | bigint | boolean | null;
}

export interface LocatedList {
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

/** The plain value. Keys become own properties, also `__proto__`. */
export function plain(located: Located): unknown {
  switch (located.kind) {
    case 'scalar':
      return located.value;
    case 'list':
      return located.items.map(plain);
    case 'map':
      return Object.fromEntries([...located.entries].map(([key, entry]) => [key, plain(entry.value)]));
  }
}

/** A plain value, all of it at one place. */
export function place(value: unknown, at: Place): Located {
  if (Array.isArray(value)) return { kind: 'list', at, items: value.map((item) => place(item, at)) };
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, inner]) => [key, { keyAt: at, value: place(inner, at) }] as const);
    return { kind: 'map', at, entries: new Map(entries) };
  }
  return { kind: 'scalar', at, value: value as LocatedScalar['value'] };
}

/** `over` laid over `base`: maps are merged deeply, anything else replaces. Each value keeps its own place. */
export function merge(base: Located | undefined, over: Located | undefined): Located | undefined {
  if (base === undefined || over === undefined) return over ?? base;
  if (base.kind !== 'map' || over.kind !== 'map') return over;
  const entries = new Map(base.entries);
  for (const [key, entry] of over.entries) {
    const below = entries.get(key);
    const value = merge(below?.value, entry.value) ?? entry.value;
    entries.set(key, { keyAt: entry.keyAt, value });
  }
  return { kind: 'map', at: over.at, entries };
}

/** The value at a path, or undefined. */
export function valueAt(located: Located | undefined, path: Path): Located | undefined {
  return path.reduce<Located | undefined>((value, step) => child(value, step)?.value, located);
}

/** Where the key at a path stands; where there is none, the nearest key or value above it that does. */
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

/** Where the value at a path stands; where there is none, the nearest key above it. */
export function valuePlace(located: Located, path: Path): Place {
  return valueAt(located, path)?.at ?? keyPlace(located, path);
}

/** Every scalar with its path, in the order of the file. */
export function* scalars(located: Located, path: Path = []): Generator<{ path: Path; scalar: LocatedScalar }> {
  if (located.kind === 'scalar') yield { path, scalar: located };
  else if (located.kind === 'list') for (const [i, item] of located.items.entries()) yield* scalars(item, [...path, i]);
  else for (const [key, entry] of located.entries) yield* scalars(entry.value, [...path, key]);
}

function child(value: Located | undefined, step: PropertyKey): LocatedEntry | undefined {
  if (value?.kind === 'map') return value.entries.get(String(step));
  if (value?.kind === 'list') {
    const item = value.items[Number(step)];
    return item && { keyAt: item.at, value: item };
  }
  return undefined;
}
