import { describeProblem, Problem, Problems } from '../problem/problem.ts';
import { redact } from '../secret/secret.ts';
import { readable } from '../text/printable.ts';

/** Problems shown of one file or run; whoever has more mends these first. */
const mostShown = 100;

/**
 * An error as an operator reads it: the cause first, then what to do. Nothing in it steers the terminal.
 *
 * @param verbose adds the stack of what is no operator's mistake
 */
export function describeError(error: unknown, verbose = false): string {
  return readable(redact(inWords(error, verbose)));
}

function inWords(error: unknown, verbose: boolean): string {
  if (error instanceof Problems) return manyInWords(error.problems);
  if (error instanceof Problem) return describeProblem(error);
  if (!(error instanceof Error)) return String(error);
  const hint = 'hint' in error && typeof error.hint === 'string' ? `\n  ${error.hint}` : '';
  return `${verbose && isUnexpected(error) ? (error.stack ?? error.message) : error.message}${hint}`;
}

function manyInWords(problems: readonly Problem[]): string {
  const lines = problems.slice(0, mostShown).map(describeProblem);
  const more = problems.length - lines.length;
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n');
}

/** Errors of the language itself, as TypeError, are nobody's mistake but ours. */
function isUnexpected(error: Error): boolean {
  return error.name in globalThis;
}
