import { normalize } from 'node:path/posix';
import type { Output } from '../output.ts';

/**
 * @throws TypeError for anything but an absolute path on one line: answers are lines that end in
 * the path
 */
export function checkPath(path: string): string {
  if (!path.startsWith('/')) throw new TypeError(`a path on a host has to be absolute: ${path}`);
  if (/[\n\0]/.test(path))
    throw new TypeError(`a path on a host cannot hold a line break: ${JSON.stringify(path)}`);
  return path;
}

/**
 * @throws Error where the program of a read is missing or cannot run: nothing is known of any key
 * then
 */
export function requireProgram(program: string, { exitCode, stderr }: Output): void {
  if (exitCode === 126 || exitCode === 127) throw new Error(`${program}: ${stderr.trim()}`);
}

/**
 * The path, unless the content is made by the kernel when it is read: the state of the file shows
 * no change then.
 */
export function ownFile(path: string): string | undefined {
  return /^\/+(proc|sys)\//.test(normalize(path)) ? undefined : path;
}
