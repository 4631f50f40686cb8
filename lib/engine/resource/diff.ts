import { structuredPatch } from 'diff';
import { printable } from '../text/printable.ts';
import type { Difference } from './resource.ts';

/** Unchanged lines shown around a change. */
const context = 2;
/** Lines shown of one difference; a new configuration file of usual length fits. */
const longest = 80;
/** Characters shown of one line. */
const widest = 240;
/** Longer values do not stand side by side. Characters. */
const sideBySide = 80;
/** Two very different long texts could take minutes to compare. Milliseconds. */
const patience = 500;

/**
 * Differences as lines to print: `what: was -> wanted` for short values, a unified diff for texts, where lines start with
 * `+`, `-`, a space or `@@`. Control characters are written out, so that a host's file cannot play with the terminal.
 */
export function diffLines(differences: readonly Difference[]): string[] {
  return differences.flatMap((difference) => linesOf(difference)).map(line);
}

function linesOf({ what, was, wanted }: Difference): string[] {
  if (isShort(was) && isShort(wanted)) return [`${what}: ${shown(was)} -> ${shown(wanted)}`];
  const lines = textDiff(was, wanted);
  if (!lines) return [`${what}: ${countLines(was)} -> ${countLines(wanted)}`];
  const hidden = lines.length - longest;
  return [`${what}:`, ...lines.slice(0, longest), ...(hidden > 0 ? [`… ${hidden} more lines`] : [])];
}

/** A unified diff, line by line; undefined where the texts are so different that it would take too long. */
export function textDiff(was: string, wanted: string): string[] | undefined {
  const patch = structuredPatch('', '', was, wanted, undefined, undefined, { context, timeout: patience });
  return patch?.hunks.flatMap((hunk) => [
    `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`,
    ...hunk.lines,
  ]);
}

/** An empty range stands before the first line, as in every other diff. */
function range(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}

export function isShort(text: string): boolean {
  return text.length <= sideBySide && !text.includes('\n');
}

function shown(text: string): string {
  return text === '' ? '(nothing)' : text;
}

export function countLines(text: string): string {
  return `${text.split('\n').length} lines`;
}

function line(text: string): string {
  const safe = printable(text);
  return safe.length > widest ? `${safe.slice(0, widest - 1)}…` : safe;
}
