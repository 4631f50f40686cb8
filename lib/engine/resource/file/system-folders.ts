import { posix } from 'node:path';
import type { Reader } from '../../host/host.ts';

/**
 * Folders of the system (Filesystem Hierarchy Standard). With access for one user alone, the
 * system would not work any more.
 */
const names =
  /^\/(bin|boot|dev|etc|home|lib\w*|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|usr\/(bin|games|include|lib\w*|local|sbin|share|src)|var\/(cache|lib|lock|log|mail|opt|run|spool|tmp)|(dev|proc|sys)\/.*)$/;

/** Whether a path is a folder of the system. Without links, `..` and `/` at its end. */
export function isSystemFolder(path: string): boolean {
  return names.test(path);
}

/** More links after one another are not followed: they are a circle. As the kernel does. */
const mostLinks = 40;

/**
 * The folder of the system that a path names, itself or by a link: `/` or another.
 *
 * @returns undefined for any other folder
 */
export async function systemFolderAt(host: Reader, path: string): Promise<string | undefined> {
  let at = path;
  for (let links = 0; links <= mostLinks; links += 1) {
    at = posix.resolve(at);
    if (at === '/' || isSystemFolder(at)) return at;
    const found = await host.stat(at);
    if (found?.type !== 'link' || found.target === undefined) return undefined;
    at = posix.resolve(posix.dirname(at), found.target);
  }
  return undefined;
}
