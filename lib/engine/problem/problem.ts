/** A place in a file, counted from 1 as editors count. */
export interface Place {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  /** For the output of a command, which is no file: where the command is. */
  readonly from?: Place;
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

interface ProblemOptions {
  readonly where?: Place | undefined;
  readonly hint?: string | undefined;
  readonly code?: ExitCode;
  readonly cause?: unknown;
}

/**
 * A mistake that the operator can fix. It is shown as cause, place and what to do, never as a
 * stack trace.
 *
 * @param what one sentence, the cause first
 * @param options `where` the place in a file, `hint` what to do, `code` the exit code
 */
export class Problem extends Error {
  readonly where: Place | undefined;
  readonly hint: string | undefined;
  readonly code: ExitCode;

  constructor(what: string, options: ProblemOptions = {}) {
    super(what, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Problem';
    this.where = options.where;
    this.hint = options.hint;
    this.code = options.code ?? exitCode.badInput;
  }
}

/**
 * A problem of a host, or of a program on it: nothing is wrong with the input. Its exit code is 1.
 */
export class Failure extends Problem {
  constructor(what: string, options: Omit<ProblemOptions, 'code'> = {}) {
    super(what, { ...options, code: exitCode.failed });
  }
}

/** All problems of one file, so that an operator fixes it in one go. */
export class Problems extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(describeProblem).join('\n'));
    this.name = 'Problems';
    this.problems = problems;
  }
}

/** The exit code of an error. An error that is not a Problem is a failure. */
export function exitCodeOfError(error: unknown): ExitCode {
  if (error instanceof Problem) return error.code;
  return error instanceof Problems ? exitCode.badInput : exitCode.failed;
}

/**
 * `file:line:column`, which editors and terminals turn into a link. Before a place in the output of
 * a command comes the place of the command.
 */
export function describePlace({ file, line, column, from }: Place): string {
  const own = [file, line, column].filter((part) => part !== undefined).join(':');
  return from ? `${describePlace(from)}: ${own}` : own;
}

/** A problem as the operator reads it: place and cause, then the hint on its own line. */
export function describeProblem(problem: Problem): string {
  const where = problem.where ? `${describePlace(problem.where)}: ` : '';
  const hint = problem.hint ? `\n  ${problem.hint}` : '';
  return `${where}${problem.message}${hint}`;
}
