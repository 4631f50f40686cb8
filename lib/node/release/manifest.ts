import { basename } from 'node:path/posix';
import type { Reader } from '../../engine/host/host.ts';
import { parseHolder } from '../../engine/run/lock/lock-holder.ts';
import { product } from '../server/product.ts';

/** Folder of the releases of a host, as templates/host/release.sh writes them. */
export const releasesFolder = `/var/lib/${product}/releases`;

/** The image of a container: its name as the Compose file has it, its id, and the digest of its registry if there is one. */
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
  const [link, all] = await Promise.all([
    host.stat(`${releasesFolder}/current`),
    host.$`cd ${releasesFolder} && grep -r '' --include=manifest --include=made [1-9]*`,
  ]);
  const lines = new Map<number, string[]>();
  for (const line of all.stdout.split('\n')) {
    const [, number, text] = /^(\d+)\/(?:manifest|made):(.*)$/.exec(line) ?? [];
    if (number !== undefined) lines.set(Number(number), [...(lines.get(Number(number)) ?? []), text ?? '']);
  }
  const releases = [...lines].map(([number, own]) => parseRelease(number, link?.target === String(number), own));
  return releases.sort((a, b) => b.number - a.number);
}

function parseRelease(number: number, isCurrent: boolean, lines: readonly string[]): Release {
  const words = (kind: string) =>
    lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.split(' ').slice(1));
  return {
    number,
    isCurrent,
    files: new Map(words('file').map(([sum = '', path = '']) => [path, sum])),
    images: words('image').map(([container = '', name = '', id = '', digest]) => {
      return { container, name, id, digest: digest === '-' ? undefined : digest };
    }),
    migrations: words('migrations').map(([count]) => Number(count))[0],
    made: lines.map(parseHolder).find((holder) => holder !== undefined),
  };
}

/** Whether the files and images of a host are those of a release. @param paths of the rendered files */
export async function isDeployed(
  host: Reader,
  release: Pick<Release, 'files' | 'images'>,
  paths: readonly string[],
  containers: readonly string[],
): Promise<boolean> {
  const [sums, states] = await Promise.all([
    Promise.all(paths.map((path) => host.sha256(path))),
    Promise.all(containers.map((name) => host.container(name))),
  ]);
  const { files, images } = release;
  return (
    files.size === paths.length &&
    images.length === containers.length &&
    paths.every((path, at) => files.get(path) === sums[at]) &&
    containers.every((container, at) => {
      const image = images.find((each) => each.container === container);
      const state = states[at];
      return image?.name === state?.image && image?.id === state?.imageId;
    })
  );
}

/** Where a release keeps a file. @param path of the file where it is deployed */
export function keptAt(release: Release, path: string): string {
  return `${releasesFolder}/${release.number}/files/${basename(path)}`;
}
