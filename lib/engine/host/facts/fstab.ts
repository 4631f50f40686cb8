import { unescapeOctal } from './unescape-octal.ts';

/**
 * One line of /etc/fstab that mounts something. Fields as in fstab(5), with its escapes decoded.
 */
export interface FstabEntry {
  readonly source: string;
  readonly target: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** The entry in a line, or undefined for a comment, an empty or a broken line. */
export function parseFstabLine(line: string): FstabEntry | undefined {
  if (/^\s*(#|$)/.test(line)) return undefined;
  const [source, target, type, options] = line.trim().split(/\s+/);
  if (source === undefined || target === undefined || type === undefined) return undefined;
  return {
    source: unescapeOctal(source),
    // The kernel's mount point has no slash at its end, however the table has it.
    target: unescapeOctal(target).replace(/(?!^)\/+$/, ''),
    type,
    options: (options ?? 'defaults').split(','),
  };
}

/** All entries of the table. */
export function parseFstab(text: string): FstabEntry[] {
  return text.split('\n').flatMap((line) => parseFstabLine(line) ?? []);
}
