import { isDeepStrictEqual } from 'node:util';
import { type Located, type LocatedEntry, type Path, plain } from './located.ts';

/** A value that the variables of a group give. */
interface GroupSetting {
  readonly group: string;
  readonly entry: LocatedEntry;
}

/** Two groups, neither within the other, that give a variable different values. */
export interface GroupConflict {
  readonly path: Path;
  readonly one: GroupSetting;
  readonly other: GroupSetting;
}

/**
 * Merges the variables of all groups of one host, key by key: those of a group over those of a
 * group that it is within.
 *
 * @param settings one for each group, those of a group behind those that it is within
 * @param isWithin whether one group is within another
 * @returns the variables, with one of the values of each conflict
 */
export function mergeGroups(
  settings: readonly GroupSetting[],
  isWithin: (group: string, other: string) => boolean,
): { readonly vars: Located | undefined; readonly conflicts: readonly GroupConflict[] } {
  const conflicts: GroupConflict[] = [];
  const merged = (given: readonly GroupSetting[], path: Path): LocatedEntry | undefined => {
    const strongest = given.filter((one) => !given.some((other) => replaces(other, one, isWithin)));
    const last = strongest.at(-1);
    if (!last) return undefined;
    const { entry } = last;
    if (entry.value.kind === 'map' && strongest.every(isMap)) {
      const entries = [...byKey(strongest)].flatMap(([key, inner]) => {
        const value = merged(inner, [...path, key]);
        return value ? [[key, value] as const] : [];
      });
      return { keyAt: entry.keyAt, value: { ...entry.value, entries: new Map(entries) } };
    }
    const value = plain(entry.value);
    const one = strongest.find((each) => !isDeepStrictEqual(plain(each.entry.value), value));
    if (one) conflicts.push({ path, one, other: last });
    return entry;
  };
  const vars = merged(settings, [])?.value;
  return { vars, conflicts };
}

/**
 * Whether a host's own variables, or those of the command line, decide a conflict: they have the
 * variable, or replace a mapping around it.
 */
export function decides(own: Located | undefined, { path, one, other }: GroupConflict): boolean {
  let value = own;
  for (const step of path) {
    if (value?.kind !== 'map') return value !== undefined;
    value = value.entries.get(String(step))?.value;
  }
  // A mapping is merged with what is below it.
  return value !== undefined && (value.kind !== 'map' || !(isMap(one) || isMap(other)));
}

function replaces(
  over: GroupSetting,
  below: GroupSetting,
  isWithin: (group: string, other: string) => boolean,
): boolean {
  return isWithin(over.group, below.group) && !(isMap(over) && isMap(below));
}

function isMap({ entry }: GroupSetting): boolean {
  return entry.value.kind === 'map';
}

function byKey(settings: readonly GroupSetting[]): Map<string, GroupSetting[]> {
  const keys = new Map<string, GroupSetting[]>();
  for (const { group, entry } of settings) {
    if (entry.value.kind !== 'map') continue;
    for (const [key, inner] of entry.value.entries)
      keys.set(key, [...(keys.get(key) ?? []), { group, entry: inner }]);
  }
  return keys;
}
