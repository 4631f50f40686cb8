import { type FstabEntry, parseFstabLine } from '../../host/facts/fstab.ts';

/** The line for an entry: no dump, check at boot after the root file system. */
export function fstabLine({ source, target, type, options }: FstabEntry): string {
  return `${forTable(source)} ${forTable(target)} ${type} ${options.join(',')} 0 2`;
}

/** Whether both are the same mount, whatever the order of options. */
export function sameEntry(a: FstabEntry, b: FstabEntry): boolean {
  const key = ({ source, target, type, options }: FstabEntry) =>
    [source, target, type, [...options].sort().join(',')].join(' ');
  return key(a) === key(b);
}

/**
 * The table with the entry: in place of the line for the same target, or as the last line. Other
 * lines stay byte for byte.
 */
export function withEntry(table: string, entry: FstabEntry): string {
  const lines = table.split('\n');
  const at = lines.findIndex((line) => parseFstabLine(line)?.target === entry.target);
  if (at >= 0) return lines.with(at, fstabLine(entry)).join('\n');
  return `${table}${table === '' || table.endsWith('\n') ? '' : '\n'}${fstabLine(entry)}\n`;
}

/** fstab has white space, `#` and the backslash as octal numbers. */
function forTable(field: string): string {
  return field.replace(/[ \t\n\\#]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
