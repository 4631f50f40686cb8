import { isDeepStrictEqual } from 'node:util';
import type { FoundValue, FoundValues } from './read.ts';
import { pathOf, type Row, type Type } from './row.ts';

/** What Go's time.ParseDuration takes, but for signs and a 0 without a unit. */
const duration = /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/;

/**
 * Where a file and its table disagree, both ways, one line for each place; nothing where they agree.
 *
 * @throws Error where the table names a place twice
 */
export function disagreements(wanted: readonly Row[], found: FoundValues): readonly string[] {
  const rows = new Map(wanted.map((row) => [pathOf(row), row]));
  if (rows.size < wanted.length) throw new Error('a key stands twice in the table');
  const extra = [...found.keys()].filter((path) => !rows.has(path)).map((path) => `${path}: extra`);
  const others = [...rows].flatMap(([path, [, , type, value]]) => {
    const told = disagreement(type, value, found.get(path));
    return told === undefined ? [] : [`${path}: ${told}`];
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
