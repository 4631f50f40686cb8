import type { FileAttributes, Stat } from '../../host/host.ts';
import { quote } from '../../host/quote.ts';
import { Failure, type Problem } from '../../problem/problem.ts';
import type { Difference, Resource } from '../resource.ts';

/** A file or directory, with modifiers that return a new value. */
export interface WithAttributes<Self> extends Resource {
  /**
   * @param mode permission bits. Default 0o755 of a directory, 0o644 of a file, 0o600 of a file
   * with secrets
   */
  mode(mode: number): Self;
  /**
   * @param owner name or number of a user. Default root
   */
  owner(owner: string | number): Self;
  /**
   * @param group name or number of a group. Default root
   */
  group(group: string | number): Self;
}

/** `0644 root:root` */
export function describeAttributes({ mode, owner, group }: FileAttributes): string {
  return `${octal(mode)} ${owner}:${group}`;
}

/** Differences in mode, owner and group. An owner or group of digits is a number. */
export function attributeDifferences(stat: Stat, wanted: FileAttributes): Difference[] {
  const isNumber = (name: string) => /^\d+$/.test(name);
  const owner = isNumber(wanted.owner) ? String(stat.uid) : stat.owner;
  const group = isNumber(wanted.group) ? String(stat.gid) : stat.group;
  return [
    { what: 'mode', was: octal(stat.mode), wanted: octal(wanted.mode) },
    { what: 'owner', was: owner, wanted: wanted.owner },
    { what: 'group', was: group, wanted: wanted.group },
  ].filter(({ was, wanted }) => was !== wanted);
}

/** Of usual modes: `.mode(600)` is 01130, and nobody wants that. */
const writtenWithoutOctal = /^(1777|[4-7][0-7][0-7])$/;

/**
 * Refuses what cannot be the bits of a mode, or was meant as octal.
 *
 * @throws TypeError with the path
 */
export function modeOf(path: string, mode: number): number {
  // 400 to 511 are 0620 to 0777.
  const isDecimal = mode > 0o777 && writtenWithoutOctal.test(String(mode));
  if (isDecimal) throw new TypeError(`${path}: mode ${mode} is ${octal(mode)}; write 0o${mode} for 0${mode}`);
  if (Number.isInteger(mode) && mode >= 0 && mode <= 0o7777) return mode;
  throw new TypeError(`${path}: ${mode} is no mode; write one such as 0o644`);
}

/** As for chmod: `0644`. */
function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

/** What is at a path, with `a`. */
export function kindOf(stat: Stat): string {
  if (stat.type === 'link') return `a link to ${stat.target ?? 'nowhere'}`;
  return stat.type === 'directory' ? 'a directory' : 'neither file, directory nor link';
}

/** Whether it can be read and replaced as a file. */
export function isFileOrLink({ type }: Stat): boolean {
  return type === 'file' || type === 'link';
}

/** Something else is at a path. It is not removed: its purpose is unknown. */
export function inTheWay(path: string, found: string, wanted: string): Problem {
  return new Failure(`${path} is ${found}, and a ${wanted} has to be there`, {
    hint: `check what this path is used for, then move it: mv ${quote(path)} ${quote(`${path}.old`)}`,
  });
}
