import { type Stats, statSync } from 'node:fs';
import { Problem } from '../problem/problem.ts';
import { type Located, valueAt } from './located.ts';
import { hintForLab, pathFrom, shown } from './paths.ts';

const without = {
  identity_file:
    'the path is relative to the inventory; without identity_file, the keys of your ssh_config and agent are tried',
  known_hosts: 'the path is relative to the inventory; without known_hosts, your own is looked in',
} as const;

/**
 * Files of keys that hosts are to be reached with and that are not there. ssh goes on without them, to an unknown host key or a
 * login that is refused, on each host.
 *
 * @param file the inventory, to which paths are relative
 * @param ssh its defaults for all hosts
 * @param hosts what stands under each host's name
 */
export function missingKeyFiles(file: string, ssh: Located | undefined, hosts: readonly Located[]): Problem[] {
  const remote = hosts.filter((host) => textAt(host, 'connection') !== 'local');
  return remote.flatMap((host) =>
    (['identity_file', 'known_hosts'] as const).flatMap((key) => {
      const from = valueAt(host, [key]) === undefined ? ssh : host;
      const path = pathFrom(file, textAt(from, key) || undefined);
      const why = path === undefined ? undefined : whyNoFile(path);
      if (path === undefined || why === undefined) return [];
      return new Problem(`${key}: ${shown(path)} ${why}`, {
        where: valueAt(from, [key])?.at,
        hint: hintForLab(path) ?? without[key],
      });
    }),
  );
}

function whyNoFile(path: string): string | undefined {
  let found: Stats | undefined;
  try {
    found = statSync(path, { throwIfNoEntry: false });
  } catch {
    // That it may not be read is told where it is read.
    return undefined;
  }
  if (!found) return 'does not exist';
  return found.isDirectory() ? 'is a folder' : undefined;
}

function textAt(located: Located | undefined, key: string): string | undefined {
  const value = valueAt(located, [key]);
  return value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined;
}
