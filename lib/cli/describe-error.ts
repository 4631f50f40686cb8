import { describeProblem, Problem, Problems } from '../problem.ts';
import { redact } from '../secret/secret.ts';

/**
 * An error as an operator reads it: the cause first, then what to do.
 *
 * @param verbose adds the stack of what is no operator's mistake
 */
export function describeError(error: unknown, verbose = false): string {
  if (error instanceof Problems) return redact(error.problems.map(describeProblem).join('\n'));
  if (error instanceof Problem) return redact(describeProblem(error));
  if (!(error instanceof Error)) return redact(String(error));
  const hint = 'hint' in error && typeof error.hint === 'string' ? `\n  ${error.hint}` : '';
  return redact(`${verbose && isUnexpected(error) ? (error.stack ?? error.message) : error.message}${hint}`);
}

/** Errors of the language itself, as TypeError, are nobody's mistake but ours. */
function isUnexpected(error: Error): boolean {
  return error.name in globalThis;
}
