import { homedir } from 'node:os';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the lab makes when it is brought up, and takes away when it is torn down. */
const labFolder = fileURLToPath(new URL('../../../.lab', import.meta.url));

/** A path as an operator would type it here. */
export function shown(path: string): string {
  const here = relative(process.cwd(), path);
  return here.startsWith('..') || isAbsolute(here) ? path : here;
}

/** A path that a file names: relative to that file, absolute, or in the operator's home (`~/`). */
export function pathFrom(file: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  return resolve(dirname(file), path.startsWith('~/') ? `${homedir()}${path.slice(1)}` : path);
}

/** Where files of the lab come from; undefined for any other file. */
export function hintForLab(path: string): string | undefined {
  return resolve(path).startsWith(labFolder + sep) ? 'the lab makes this file: npm run lab:up' : undefined;
}
