import type { Action } from '../../host/action.ts';
import type { Reader } from '../../host/host.ts';
import { readScript, withArguments } from '../../host/script.ts';
import { Problem } from '../../problem/problem.ts';
import { driftOf, type Resource, refused } from '../resource.ts';

const script = readScript(new URL('../../../../templates/host/install-packages.sh', import.meta.url));

/** How long another apt, such as unattended upgrades at boot, may hold its locks. Seconds. */
const lockTimeout = 300;
/** Package lists are some ten megabytes. Seconds. */
const fetchTimeout = 90;
/** A large download from a slow mirror. Seconds. */
const installTimeout = 2 * 3600;
const noApt = 'there is no dpkg and apt on this host, so nothing can be installed';

/**
 * Distribution packages that have to be installed, in the version of the distribution. None is removed.
 *
 * @example packages('tmux', 'ncdu')
 */
export function packages(...names: readonly string[]): Resource {
  for (const name of names) {
    // An option is not a name either.
    if (!/^[a-z0-9][a-z0-9.+-]*$/.test(name)) throw new Error(`"${name}" is no name of a package`);
  }
  return {
    name: `packages ${names.join(', ')}`,

    async check(host) {
      const [dpkg, ...states] = await Promise.all([
        host.$`command -v dpkg-query && command -v apt-get`,
        ...names.map((name) => host.package(name)),
      ]);
      if (!dpkg.ok) return refused(noApt, `use Debian or Ubuntu, or install by hand: ${names.join(' ')}`);
      const absent = names.filter((_, at) => !states[at]?.installed);
      return driftOf(
        absent.map((what) => ({ what, was: 'not installed', wanted: 'installed' })),
        [installation(absent)],
      );
    },
  };
}

/**
 * Packages of several resources in one transaction.
 *
 * @param resources of `packages`: each of them says what is missing, and whether it can be installed
 */
export function inOneTransaction(name: string, resources: readonly Resource[]): Resource {
  return {
    name,

    async check(host) {
      const seen = await Promise.all(resources.map((resource) => resource.check(host)));
      const drifts = seen.flatMap((verdict) => (verdict.is === 'drift' ? [verdict] : []));
      const cannot = drifts.find(({ change }) => change instanceof Problem);
      if (cannot) return cannot;
      const missing = drifts.flatMap(({ differences }) => differences);
      return driftOf(missing, [installation(missing.map(({ what }) => what))]);
    },
  };
}

/** One transaction of apt. */
function installation(names: readonly string[]): Action {
  return {
    do: 'run',
    command: `# apt-get install ${names.join(' ')}\n${withArguments(script, [lockTimeout, fetchTimeout, names])}`,
    timeoutSeconds: installTimeout,
    failure: {
      what: `${names.join(', ')} could not be installed`,
      hint: 'if a mirror of /etc/apt/sources.list and sources.list.d cannot be reached from there, fix it: apt-get update',
    },
  };
}

/**
 * The candidate version of each package, by name, such as `2:1.19~1`. A package that is not in the package lists is left out; on a
 * host without lists that is every package.
 */
export async function candidateVersions(host: Reader, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  // Without its caches, which it would write.
  const policy = await host.$`apt-cache -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= policy ${names}`;
  const found = policy.stdout.matchAll(/^(\S+):\n(?: .*\n)*? +Candidate: (?!\(none\))(\S+)$/gm);
  return new Map([...found].map(([, name = '', version = '']) => [name, version]));
}
