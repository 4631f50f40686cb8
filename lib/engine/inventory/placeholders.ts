import { Problem } from '../problem/problem.ts';
import { type Located, type Path, pathName, scalars } from './located.ts';

/**
 * A placeholder of an inventory: `'<FILL: what belongs here>'`, alone or within a longer value.
 */
const placeholder = /<FILL:?\s*([^>]*)>?/;

/**
 * One problem for each placeholder, in the order of the file.
 *
 * @param isWanted selects values by path
 */
export function findPlaceholders(
  located: Located,
  isWanted: (path: Path) => boolean = () => true,
): Problem[] {
  return [...scalars(located)].flatMap(({ path, scalar: { value, at } }) => {
    const what = typeof value === 'string' && isWanted(path) ? placeholder.exec(value) : null;
    if (!what) return [];
    return new Problem(`${pathName(path)} is not filled in`, {
      where: at,
      hint: `fill in: ${what[1]?.trim() || 'a value'}`,
    });
  });
}
