import type { Verdict } from '../../engine/resource/resource.ts';

/**
 * Judges the manifest that is in a folder already: it is of the snapshot that the run asks for, and
 * its files are there.
 *
 * @param text the manifest
 * @param folder its name in messages
 * @param has whether the folder has a file of so many bytes
 */
export type JudgeManifest = (
  text: string,
  folder: string,
  has: (file: string, bytes: number) => boolean,
) => Verdict;

/** What the operator can do about a folder that is refused. */
export const otherFolder = 'name another folder: nothing in this one is changed';
