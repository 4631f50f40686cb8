import { type Stats, statSync } from 'node:fs';
import { pathBeside } from '../file/private-file.ts';
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
 * Reports key files that the inventory names and that do not exist. ssh would go on without them, and report an unknown host key
 * or a refused login on each host.
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
      const fault = fileFault(path);
      if (fault === undefined) return [];
      const hint = missingFileHint?.(path) ?? hints[key];
      return new Problem(`${key}: ${shown(path)} ${fault}`, { where: source.at, hint });
    }),
  );
}

function fileFault(path: string): string | undefined {
  let found: Stats | undefined;
  try {
    found = statSync(path, { throwIfNoEntry: false });
  } catch {
    // A file that may not be read is reported where it is read.
    return undefined;
  }
  if (!found) return 'does not exist';
  return found.isDirectory() ? 'is a folder' : undefined;
}
