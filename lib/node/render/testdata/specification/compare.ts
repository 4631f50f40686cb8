import { isDeepStrictEqual } from 'node:util';
import type { FoundValue, FoundValues } from './read.ts';
import { pathOf, type Row, type Type } from './row.ts';

/** The format of Go's time.ParseDuration, without signs and without a 0 that has no unit. */
const duration = /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/;

/**
 * Differences between a file and its table, both ways, one line for each place; empty if they
 * match.
 *
 * @throws Error where the table names a place twice
 */
export function disagreements(wanted: readonly Row[], found: FoundValues): readonly string[] {
  const rows = new Map(wanted.map((row) => [pathOf(row), row]));
  if (rows.size < wanted.length) throw new Error('a key is in the table twice');
  const extra = [...found.keys()].filter((path) => !rows.has(path)).map((path) => `${path}: extra`);
  const others = [...rows].flatMap(([path, [, , type, value]]) => {
    const difference = disagreement(type, value, found.get(path));
    return difference === undefined ? [] : [`${path}: ${difference}`];
  });
  return [...others, ...extra];
}

function disagreement(type: Type, value: unknown, found: FoundValue | undefined): string | undefined {
  if (found === undefined) return 'missing';
  if (!fits(type, found)) return `has type ${found.type} (${JSON.stringify(found.value)}), wanted ${type}`;
  if (isDeepStrictEqual(found.value, value)) return undefined;
  return `has value ${JSON.stringify(found.value)}, wanted ${JSON.stringify(value)}`;
}

function fits(type: Type, { type: is, value }: FoundValue): boolean {
  if (type === 'duration') return is === 'string' && duration.test(String(value));
  if (type === 'number') return is === 'number' || is === 'integer';
  return is === type;
}
