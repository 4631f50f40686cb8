import { structuredPatch } from 'diff';
import { redact } from '../secret/secret.ts';
import { printable } from '../text/printable.ts';
import type { Difference } from './resource.ts';

/** Unchanged lines shown around a change. */
const context = 2;
/** Lines shown of one difference; a new configuration file of usual length fits. */
const longest = 80;
/** Characters shown of one line. */
const widest = 240;
/** Longer values are not shown side by side. Characters. */
const sideBySide = 80;
/** Two very different long texts could take minutes to compare. Milliseconds. */
const timeout = 500;

/**
 * Differences as lines to print: `what: was -> wanted` for short values, a unified diff for texts,
 * where lines start with `+`, `-`, a space or `@@`. Control characters are escaped, so that a file
 * of a host cannot control the terminal. Secrets are masked before a long line is cut.
 */
export function diffLines(differences: readonly Difference[]): string[] {
  return differences.flatMap((difference) => linesOf(difference)).map(cut);
}

function linesOf({ what, was, wanted }: Difference): string[] {
  if (isShort(was) && isShort(wanted)) return [`${what}: ${was || '(nothing)'} -> ${wanted || '(nothing)'}`];
  const lines = valueDiff(was, wanted);
  if (!lines) return [`${what}: ${countLines(was)} -> ${countLines(wanted)}`];
  const hidden = lines.length - longest;
  return [`${what}:`, ...lines.slice(0, longest), ...(hidden > 0 ? [`… ${hidden} more lines`] : [])];
}

/**
 * A unified diff of two values. The end of a last line counts only in the text of a file, and what
 * is absent has no lines. Of two single lines each line is enough.
 *
 * @returns as of textDiff
 */
export function valueDiff(was: string, wanted: string): string[] | undefined {
  if (was.endsWith('\n') || wanted.endsWith('\n')) return textDiff(was, wanted);
  const asText = (value: string) => (value === '' || value === 'absent' ? '' : `${value}\n`);
  const lines = textDiff(asText(was), asText(wanted));
  return was.includes('\n') || wanted.includes('\n') ? lines : lines?.slice(1);
}

/**
 * A unified diff, line by line; undefined if the texts are so different that it would take too
 * long.
 */
export function textDiff(was: string, wanted: string): string[] | undefined {
  const patch = structuredPatch('', '', was, wanted, undefined, undefined, { context, timeout });
  return patch?.hunks.flatMap((hunk) => [
    `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`,
    ...hunk.lines,
  ]);
}

/** The number of an empty range is that of the line before it, as in every diff. */
function range(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}

export function isShort(text: string): boolean {
  return text.length <= sideBySide && !text.includes('\n');
}

/** `12 lines`. */
export function countLines(text: string): string {
  return `${text.split('\n').length} lines`;
}

function cut(text: string): string {
  const safe = printable(redact(text));
  return safe.length > widest ? `${safe.slice(0, widest - 1)}…` : safe;
}
