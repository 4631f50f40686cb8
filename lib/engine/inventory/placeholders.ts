import { Problem } from '../problem/problem.ts';
import { type Located, type Path, scalars } from './located.ts';

/** A value that an inventory leaves open: `'<FILL: what belongs here>'`, alone or within a longer value. */
const open = /<FILL:?\s*([^>]*)>?/;

/** One value that nobody has filled in yet. */
export interface Placeholder {
  readonly path: Path;
  readonly problem: Problem;
}

/**
 * All values left open, in the order of the file.
 *
 * @param label how a path is called in the problem: `network.l1_rpc_url`
 */
export function findPlaceholders(located: Located, label: (path: Path) => string): Placeholder[] {
  const found: Placeholder[] = [];
  for (const { path, scalar } of scalars(located)) {
    const what = typeof scalar.value === 'string' ? open.exec(scalar.value) : null;
    if (!what) continue;
    found.push({
      path,
      problem: new Problem(`${label(path)} is not filled in`, {
        where: scalar.at,
        hint: `fill in: ${what[1]?.trim() || 'a value'}`,
      }),
    });
  }
  return found;
}
