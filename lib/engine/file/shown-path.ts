import { isAbsolute, relative } from 'node:path';

/** A path as an operator would type it in the working directory. */
export function shown(path: string): string {
  const here = relative(process.cwd(), path);
  return here.startsWith('..') || isAbsolute(here) ? path : here;
}
