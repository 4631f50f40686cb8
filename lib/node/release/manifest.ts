import { basename } from 'node:path/posix';
import type { Reader } from '../../engine/host/host.ts';
import { parseHolder } from '../../engine/run/lock/lock-holder.ts';
import { product } from '../server/product.ts';

/** Folder of the releases of a host, as templates/host/release.sh writes them. */
export const releasesFolder = `/var/lib/${product}/releases`;

/**
 * The image of a container: its name as the Compose file has it, its id, and the digest of its
 * registry if there is one.
 */
export interface ReleasedImage {
  readonly container: string;
  readonly name: string;
  readonly id: string;
  readonly digest: string | undefined;
}

/** What was deployed to a host at a time. */
export interface Release {
  readonly number: number;
  readonly isCurrent: boolean;
  /** Whether it is the one that served before the current one. */
  readonly isPrevious: boolean;
  /** SHA-256 in hex, by path. */
  readonly files: ReadonlyMap<string, string>;
  readonly images: readonly ReleasedImage[];
  /** Of the state database; only on its server. */
  readonly migrations: number | undefined;
  /** The run that made it. */
  readonly made: ReturnType<typeof parseHolder>;
}

/** The releases of a host, newest first. */
export async function readReleases(host: Reader): Promise<readonly Release[]> {
  const [link, served, all] = await Promise.all([
    host.stat(`${releasesFolder}/current`),
    host.read(`${releasesFolder}/served`),
    host.$`cd ${releasesFolder} && grep -r '' --include=manifest --include=made [1-9]*`,
  ]);
  const lines = new Map<number, string[]>();
  for (const line of all.stdout.split('\n')) {
    const [, number, text] = /^(\d+)\/(?:manifest|made):(.*)$/.exec(line) ?? [];
    if (number !== undefined) lines.set(Number(number), [...(lines.get(Number(number)) ?? []), text ?? '']);
  }
  const current = Number(link?.target);
  // A version that does not note them took any that is older for one that served.
  const inOrder = served?.toString().split('\n').map(Number) ?? [...lines.keys()].sort((a, b) => a - b);
  // One that was undone by a run that was killed is not among them.
  const at = inOrder.indexOf(current);
  const previous = inOrder.slice(0, at < 0 ? undefined : at).findLast((number) => lines.has(number));
  const releases = [...lines].map(([number, own]) =>
    parseRelease({ number, isCurrent: number === current, isPrevious: number === previous }, own),
  );
  return releases.sort((a, b) => b.number - a.number);
}

function parseRelease(
  which: Pick<Release, 'number' | 'isCurrent' | 'isPrevious'>,
  lines: readonly string[],
): Release {
  const words = (kind: string) =>
    lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.split(' ').slice(1));
  return {
    ...which,
    files: new Map(words('file').map(([sum = '', path = '']) => [path, sum])),
    images: words('image').map(([container = '', name = '', id = '', digest]) => {
      return { container, name, id, digest: digest === '-' ? undefined : digest };
    }),
    migrations: words('migrations').map(([count]) => Number(count))[0],
    made: lines.map(parseHolder).find((holder) => holder !== undefined),
  };
}

/**
 * What is deployed to a host now, without the digests.
 *
 * @param paths of the rendered files
 * @param containers their names
 */
export async function readDeployed(host: Reader, paths: readonly string[], containers: readonly string[]) {
  const [sums, states] = await Promise.all([
    Promise.all(paths.map((path) => host.sha256(path))),
    Promise.all(containers.map((name) => host.container(name))),
  ]);
  return {
    files: paths.map((path, at) => [path, sums[at]] as const),
    images: containers.map((container, at) => ({
      container,
      name: states[at]?.image,
      id: states[at]?.imageId,
    })),
    notRunning: containers.filter((_, at) => !states[at]?.running),
  };
}

/** Whether a release is what is deployed. */
export function isDeployed(
  { files, images }: Release,
  deployed: Pick<Awaited<ReturnType<typeof readDeployed>>, 'files' | 'images'>,
): boolean {
  return (
    files.size === deployed.files.length &&
    deployed.files.every(([path, sum]) => files.get(path) === sum) &&
    images.length === deployed.images.length &&
    deployed.images.every((own) =>
      images.some(
        ({ container, name, id }) => container === own.container && name === own.name && id === own.id,
      ),
    )
  );
}

/**
 * Where a release keeps a file.
 *
 * @param path of the file where it is deployed
 */
export function keptAt(release: Release, path: string): string {
  return `${releasesFolder}/${release.number}/files/${basename(path)}`;
}
