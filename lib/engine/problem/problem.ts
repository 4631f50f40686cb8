/** A place in a file, counted from 1 as editors count. */
export interface Place {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
}

/** The exit codes of every playbook. */
export const exitCode = {
  converged: 0,
  failed: 1,
  pending: 2,
  badInput: 3,
  unreachable: 4,
  locked: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

/**
 * Something that the operator can mend: it is shown as what, where and what to do, never as a stack trace.
 *
 * @param what one sentence, the cause first
 * @param options `where` the place in a file, `hint` what to do about it, `code` the exit code it leads to
 */
export class Problem extends Error {
  readonly where: Place | undefined;
  readonly hint: string | undefined;
  readonly code: ExitCode;

  constructor(
    what: string,
    options: { where?: Place | undefined; hint?: string | undefined; code?: ExitCode; cause?: unknown } = {},
  ) {
    super(what, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Problem';
    this.where = options.where;
    this.hint = options.hint;
    this.code = options.code ?? exitCode.badInput;
  }
}

/** Several problems found in one go, so that an operator mends a file once and not once for each line. */
export class Problems extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(describeProblem).join('\n'));
    this.name = 'Problems';
    this.problems = problems;
  }
}

/** The exit code that an error leads to: what is no operator's mistake is a failure. */
export function exitCodeOfError(error: unknown): ExitCode {
  if (error instanceof Problem) return error.code;
  return error instanceof Problems ? exitCode.badInput : exitCode.failed;
}

/** `file:line:column` as editors and terminals turn into a link. */
export function describePlace(place: Place): string {
  return [place.file, place.line, place.column].filter((part) => part !== undefined).join(':');
}

/** One problem as shown: place, cause, then what to do on a line of its own. */
export function describeProblem(problem: Problem): string {
  const where = problem.where ? `${describePlace(problem.where)}: ` : '';
  const hint = problem.hint ? `\n  ${problem.hint}` : '';
  return `${where}${problem.message}${hint}`;
}
