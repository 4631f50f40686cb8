import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { expectation, ok, type Resource, refused } from '../../engine/resource/resource.ts';

/**
 * Shell functions that make a whole copy the data directory of a database, also where that is a
 * mount of its own.
 */
export const dataPlaceFunctions = readFileSync(
  new URL('../../../templates/host/data-place.sh', import.meta.url),
  'utf8',
);

/** A copy that is not in its place yet, in the data directory. */
const unfinished = '.rpc-node-copy';

/**
 * Where a copy for this data directory is made: beside it, or in it where it is a mount of its
 * own. One of both is there.
 */
export const placesOfCopy = (data: string): readonly string[] => [
  `${data}.rpc-node-copy`,
  `${data}/${unfinished}`,
];

/**
 * Names in a data directory that are of no copy of ours. None where there is no such directory,
 * and where a whole copy is half in its place: the job of the copy goes on there.
 */
export async function heldIn(host: Reader, data: string): Promise<readonly string[]> {
  const list = await host.$`[ -e ${`${data}/${unfinished}/whole`} ] || ls -A ${data}`;
  return list.lines().filter((name) => name !== unfinished);
}

export async function isOwnMount(host: Reader, data: string): Promise<boolean> {
  return (await host.$`mountpoint -q ${data}`).ok;
}

/** How the operator empties a data directory that nobody can rename. */
export function emptyMount(data: string): string {
  return `nothing there is replaced. If it is not needed: docker rm -f state-db, then remove what is in ${data}`;
}

/**
 * PostgreSQL makes a database only in an empty directory, and copies one only from a directory
 * that it may read. So the container would end again and again where the directory has other
 * files, or is the root of an ext4 file system, which has lost+found.
 *
 * @param data the data directory of a database
 * @param isCopied whether a copy of ours becomes the database, so that a part of one is in no way
 */
export function canHoldDatabase(data: string, isCopied = false): Resource {
  return expectation(`${data} can hold a database`, {
    check: async (host) => {
      const held = isCopied ? await heldIn(host, data) : (await host.$`ls -A ${data}`).lines();
      if (held.length === 0 || held.includes('PG_VERSION')) return ok;
      if (held.includes('lost+found'))
        return refused(
          `${data} is the root of a file system: it has lost+found, and PostgreSQL makes no database there`,
          `mount the file system at another place, for example /mnt/${data.split('/').at(-1)}, make an empty folder in it, and bind that folder to ${data} in /etc/fstab (mount option bind)`,
        );
      return refused(
        `${data} holds files that are of no database: ${held.slice(0, 5).join(', ')}${held.length > 5 ? ', …' : ''}`,
        'nothing there is replaced. Find out what they are, and move them to another folder',
      );
    },
  });
}
