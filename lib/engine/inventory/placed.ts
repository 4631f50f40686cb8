import type { Place } from '../problem/problem.ts';

/** A value of a YAML file that knows where it stands: `at` is the value's place, `keyAt` its key's. */
export type Placed = PlacedScalar | PlacedList | PlacedMap;

export interface PlacedScalar {
  readonly kind: 'scalar';
  readonly at: Place;
  readonly value: string | number | bigint | boolean | null;
}

export interface PlacedList {
  readonly kind: 'list';
  readonly at: Place;
  readonly items: readonly Placed[];
}

export interface PlacedMap {
  readonly kind: 'map';
  readonly at: Place;
  readonly entries: ReadonlyMap<string, PlacedEntry>;
}

export interface PlacedEntry {
  readonly keyAt: Place;
  readonly value: Placed;
}

export type Path = readonly PropertyKey[];

/** The plain value. Keys become own properties, also `__proto__`. */
export function plain(placed: Placed): unknown {
  switch (placed.kind) {
    case 'scalar':
      return placed.value;
    case 'list':
      return placed.items.map(plain);
    case 'map':
      return Object.fromEntries([...placed.entries].map(([key, entry]) => [key, plain(entry.value)]));
  }
}

/** A plain value, all of it at one place. */
export function place(value: unknown, at: Place): Placed {
  if (Array.isArray(value)) return { kind: 'list', at, items: value.map((item) => place(item, at)) };
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, inner]) => [key, { keyAt: at, value: place(inner, at) }] as const);
    return { kind: 'map', at, entries: new Map(entries) };
  }
  return { kind: 'scalar', at, value: value as PlacedScalar['value'] };
}

/** `over` laid over `base`: maps are merged deeply, anything else replaces. Each value keeps its own place. */
export function merge(base: Placed | undefined, over: Placed | undefined): Placed | undefined {
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
export function valueAt(placed: Placed | undefined, path: Path): Placed | undefined {
  return path.reduce<Placed | undefined>((value, step) => child(value, step)?.value, placed);
}

/** Where the key at a path stands; where there is none, the nearest key or value above it that does. */
export function keyPlace(placed: Placed, path: Path): Place {
  let place = placed.at;
  let value: Placed | undefined = placed;
  for (const step of path) {
    const entry = child(value, step);
    if (entry === undefined) break;
    place = entry.keyAt;
    value = entry.value;
  }
  return place;
}

/** Where the value at a path stands; where there is none, the nearest key above it. */
export function valuePlace(placed: Placed, path: Path): Place {
  return valueAt(placed, path)?.at ?? keyPlace(placed, path);
}

/** Every scalar with its path, in the order of the file. */
export function* scalars(placed: Placed, path: Path = []): Generator<{ path: Path; scalar: PlacedScalar }> {
  if (placed.kind === 'scalar') yield { path, scalar: placed };
  else if (placed.kind === 'list') for (const [i, item] of placed.items.entries()) yield* scalars(item, [...path, i]);
  else for (const [key, entry] of placed.entries) yield* scalars(entry.value, [...path, key]);
}

function child(value: Placed | undefined, step: PropertyKey): PlacedEntry | undefined {
  if (value?.kind === 'map') return value.entries.get(String(step));
  if (value?.kind === 'list') {
    const item = value.items[Number(step)];
    return item && { keyAt: item.at, value: item };
  }
  return undefined;
}
