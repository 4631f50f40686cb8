import { describePlace, exitCode, type Place, Problem, Problems } from '../problem/problem.ts';

/**
 * The problems of a caught error.
 *
 * @throws the error itself where it is an interruption or not about the operator's input
 */
export function problemsIn(error: unknown): readonly Problem[] {
  if (error instanceof Problems) return error.problems;
  if (error instanceof Problem && error.code !== exitCode.interrupted) return [error];
  throw error;
}

/**
 * Throws all problems together, where there are any: each once, in the order of files and lines.
 *
 * @param open placeholders: they come first, and nothing else is reported about their places
 */
export function throwProblems(problems: readonly Problem[], open: readonly Problem[] = []): void {
  const unfilled = new Map(sorted(open).map((problem) => [placeKey(problem), problem]));
  const others = sorted(problems.filter((problem) => !unfilled.has(placeKey(problem))));
  const distinct = new Map(others.map((problem) => [`${placeKey(problem)} ${problem.message}`, problem]));
  if (unfilled.size + distinct.size > 0) throw new Problems([...unfilled.values(), ...distinct.values()]);
}

function placeKey({ where }: Problem): string {
  return where ? describePlace(where) : '';
}

function sorted(problems: readonly Problem[]): Problem[] {
  const order = ({ file = '', line = 0, column = 0 }: Partial<Place> = {}) => ({ file, line, column });
  return problems.toSorted((one, other) => {
    const [a, b] = [order(one.where), order(other.where)];
    return a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column;
  });
}
