import { pathOf, type Row } from './row.ts';

/** The differences of an older file from the current one, as the specification lists them. */
export interface Differences {
  /** Keys, and sections with all their content. */
  readonly absent: readonly string[];
  /** Sections by their current names. */
  readonly renamed: Readonly<Record<string, string>>;
  readonly changed: readonly Row[];
  readonly added: readonly Row[];
}

/**
 * The rows of the older file.
 *
 * @throws Error where a difference fits no row of the current one, so that a slip in the data does
 * not pass for agreement
 */
export function older(
  current: readonly Row[],
  { absent, renamed, changed, added }: Differences,
): readonly Row[] {
  const isIn = (path: string, place: string): boolean => path === place || path.startsWith(`${place}.`);
  const paths = current.map(pathOf);
  for (const place of [...absent, ...Object.keys(renamed), ...changed.map(pathOf)]) {
    if (!paths.some((path) => isIn(path, place))) throw new Error(`${place} is not in the current file`);
  }
  for (const row of added) {
    if (paths.includes(pathOf(row))) throw new Error(`${pathOf(row)} is in the current file`);
  }
  const changes = new Map(changed.map((row) => [pathOf(row), row]));
  const kept = current
    .filter((row) => !absent.some((place) => isIn(pathOf(row), place)))
    .map((row) => changes.get(pathOf(row)) ?? row);
  return [...kept, ...added].map(([section, ...rest]) => [renamed[section] ?? section, ...rest]);
}
