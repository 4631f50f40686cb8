import type { Facts } from '../../engine/host/facts/facts.ts';
import type { Reader } from '../../engine/host/host.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import { candidateVersions } from '../../engine/resource/system/packages.ts';

/**
 * Where an operator installs Go by the instructions of its authors. It comes before the
 * distribution's.
 */
const goRoot = '/usr/local/go';

/** The distribution's Go, installed where the host has none. */
export const goPackage = 'golang-go';

/**
 * Version of the package on each supported distribution, without other package sources (apt-cache
 * policy golang-go).
 */
const distributionGo: Readonly<Record<string, string>> = {
  'debian 12': '1.19',
  'debian 13': '1.24',
  'ubuntu 22.04': '1.18',
  'ubuntu 24.04': '1.22',
};

/**
 * @returns the version of the installed Go, as `1.21.13`, or undefined
 */
export async function installedGo(host: Reader): Promise<string | undefined> {
  // Without a home, Go 1.23 and later write no telemetry: a check changes nothing on the host.
  return goVersion((await host.$`env -i PATH=${goRoot}/bin:$PATH go version`).stdout);
}

/**
 * Whether the restore tool can be built, before anything is installed: with the installed Go, else
 * with the one that the package manager would install. Without package lists that is the
 * distribution's own.
 *
 * @param wanted the lowest version, as `1.21`
 */
export async function goWillBeNewEnough(
  host: Reader,
  { id, version, title }: Facts['distribution'],
  wanted: string,
) {
  const [installed, candidates] = await Promise.all([
    installedGo(host),
    candidateVersions(host, [goPackage]),
  ]);
  if (installed !== undefined) return judgeGo(installed, wanted);
  const candidate = goVersion(candidates.get(goPackage) ?? '');
  if (candidate !== undefined)
    return needs(candidate, wanted, `the package ${goPackage} has Go ${candidate}`);
  const usual = distributionGo[`${id} ${version}`];
  // Another distribution is refused by its own check.
  if (usual === undefined) return ok;
  return needs(
    usual,
    wanted,
    `${goPackage} of ${title} has Go ${usual} (no package list of the host has it yet)`,
  );
}

/** Whether an installed Go can build the restore tool. */
export function judgeGo(installed: string, wanted: string): Verdict {
  return needs(installed, wanted, `Go ${installed} is installed`);
}

function needs(found: string, wanted: string, seen: string): Verdict {
  // By numbers: 1.21 is later than 1.9.
  const isAtLeast = found.localeCompare(wanted, 'en', { numeric: true }) >= 0;
  return isAtLeast ? ok : drift(`${seen}, and the restore tool needs ${wanted}`);
}

/** What to do about a Go that is too old. */
export function goHint(wanted: string): string {
  return `install Go ${wanted} or later in ${goRoot} (docs/deploy.md), or set snapshot.restore_with: image`;
}

/**
 * @param text output of `go version`, as `go version go1.19.8 linux/amd64`, or a package's
 * version, as `2:1.19~1`
 */
function goVersion(text: string): string | undefined {
  return /(?:\bgo|^(?:\d+:)?)(\d+\.\d+(?:\.\d+)?)/.exec(text.replace(/^go version /, ''))?.[1];
}
