import { type Stats, statSync } from 'node:fs';
import { readPlain, unfitness } from '../file/bounded-file.ts';
import { keyModeFault, pathBeside } from '../file/private-file.ts';
import { shown } from '../file/shown-path.ts';
import { Problem } from '../problem/problem.ts';
import { scalarAt, valueAt } from './located.ts';
import type { InventoryOutline, OutlineOptions } from './outline.ts';

const hints = {
  identity_file:
    'the path is relative to the inventory; without identity_file, the keys of your ssh_config and agent are tried',
  known_hosts: 'the path is relative to the inventory; without known_hosts, your own is used',
} as const;

/**
 * Reports key files that the inventory names and that do not exist, that another user could have
 * written, or whose private key others may read. ssh would go on without them, and report an
 * unknown host key or a refused login on each host.
 */
export function missingKeyFiles(
  { file, ssh, hosts }: InventoryOutline,
  missingFileHint: OutlineOptions['missingFileHint'],
): Problem[] {
  const remote = hosts.filter(({ own }) => scalarAt(own, ['connection']) !== 'local');
  return remote.flatMap(({ own }) =>
    (['identity_file', 'known_hosts'] as const).flatMap((key) => {
      const source = valueAt(own, [key]) ?? valueAt(ssh, [key]);
      const named = scalarAt(source, []);
      if (source === undefined || typeof named !== 'string' || named === '') return [];
      const path = pathBeside(file, named);
      const fault = fileFault(path) ?? (key === 'identity_file' ? modeFault(path) : undefined);
      if (fault === undefined) return [];
      const hint = fault.hint ?? missingFileHint?.(path) ?? hints[key];
      return new Problem(`${key}: ${shown(path)} ${fault.what}`, { where: source.at, hint });
    }),
  );
}

/** `what` continues the file's path. */
interface Fault {
  readonly what: string;
  readonly hint?: string | undefined;
}

function fileFault(path: string): Fault | undefined {
  let found: Stats | undefined;
  try {
    found = statSync(path, { throwIfNoEntry: false });
    const unfit = found && unfitness(path);
    if (unfit) return { what: unfit.message, hint: unfit.hint };
  } catch {
    // A file that may not be read is reported where it is read.
    return undefined;
  }
  if (!found) return { what: 'does not exist' };
  // /dev/null: known_hosts without a key, where the inventory pins them.
  if (found.isFile() || path === '/dev/null') return undefined;
  return { what: found.isDirectory() ? 'is a folder' : 'is not a file' };
}

/** Bytes. A key is a few KiB long. */
const longestKey = 1024 ** 2;

function modeFault(path: string): Fault | undefined {
  try {
    const tooOpen = keyModeFault(path, readPlain(path, longestKey).toString());
    return tooOpen && { what: tooOpen.message, hint: tooOpen.hint };
  } catch {
    // It is reported where it is used.
    return undefined;
  }
}
