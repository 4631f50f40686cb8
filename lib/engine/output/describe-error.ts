import { describeProblem, Problem, Problems } from '../problem/problem.ts';
import { redact } from '../secret/secret.ts';
import { asRepeated } from '../text/as-started.ts';
import { readable } from '../text/printable.ts';

/** The most problems shown at once. */
const mostShown = 100;

/**
 * An error for the operator: cause, then what to do. Terminal control characters are escaped,
 * secrets are redacted.
 *
 * @param verbose adds the stack of an error that is not the operator's mistake
 */
export function describeError(error: unknown, verbose = false): string {
  return asRepeated(readable(redact(describe(error, verbose))));
}

/** An error of a host, without its name in front: the line starts with it. */
export function describeErrorOn(host: string, error: unknown, verbose = false): string {
  const text = describeError(error, verbose);
  return text.startsWith(`${host}: `) ? text.slice(host.length + 2) : text;
}

/**
 * The first line of an error, and its other lines indented. Each stands alone: a command among them
 * is copied.
 */
export function inLines(text: string): [first: string, ...others: string[]] {
  const [first = '', ...others] = text.split('\n');
  return [first, ...others.map((line) => `    ${line.trim()}`)];
}

/** Lines of an error as one. */
export function inOneLine(text: string): string {
  return text.replaceAll(/\n\s*/g, '; ');
}

function describe(error: unknown, verbose: boolean): string {
  if (error instanceof Problems) return describeAll(error.problems);
  if (error instanceof Problem) {
    const { cause } = error;
    const stack = verbose && cause instanceof Error && isUnexpected(cause) ? `\n${cause.stack}` : '';
    return describeProblem(error) + stack;
  }
  if (!(error instanceof Error)) return String(error);
  const hint = 'hint' in error && typeof error.hint === 'string' ? `\n  ${error.hint}` : '';
  return `${verbose && isUnexpected(error) ? (error.stack ?? error.message) : error.message}${hint}`;
}

function describeAll(problems: readonly Problem[]): string {
  const lines = problems.slice(0, mostShown).map(describeProblem);
  const more = problems.length - lines.length;
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n');
}

/** Errors of the language, such as TypeError, are bugs of this program. */
function isUnexpected(error: Error): boolean {
  return error.name in globalThis;
}
