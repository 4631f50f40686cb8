import type { FileAttributes, Stat } from '../../host/host.ts';
import type { Difference } from '../resource.ts';

/** `0644 root:root` */
export function describeAttributes({ mode, owner, group }: FileAttributes): string {
  return `${octal(mode)} ${owner}:${group}`;
}

/** What differs in mode, owner and group. An owner or group of digits is a number. */
export function attributeDifferences(stat: Stat, wanted: FileAttributes): Difference[] {
  const owner = isNumber(wanted.owner) ? String(stat.uid) : stat.owner;
  const group = isNumber(wanted.group) ? String(stat.gid) : stat.group;
  return [
    { what: 'mode', was: octal(stat.mode), wanted: octal(wanted.mode) },
    { what: 'owner', was: owner, wanted: wanted.owner },
    { what: 'group', was: group, wanted: wanted.group },
  ].filter(({ was, wanted }) => was !== wanted);
}

/** As chmod has it: `0644`. */
export function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

function isNumber(name: string): boolean {
  return /^\d+$/.test(name);
}
