import type { Reader } from '../../host/host.ts';
import { readScript, withArguments } from '../../host/script.ts';
import type { Step } from '../../host/step.ts';
import { counted } from '../../text/counted.ts';
import {
  type Difference,
  expectation,
  ok,
  type Resource,
  refusalOf,
  refused,
  type Verdict,
} from '../resource.ts';
import { refuseNoText } from '../settings.ts';
import { type Installed, type Simulated, type Simulation, simulate } from './apt-simulation.ts';

const script = readScript(new URL('../../../../templates/host/install-packages.sh', import.meta.url));

/** How long another apt, such as unattended upgrades at boot, may hold its locks. Seconds. */
const lockTimeout = 300;
/** Package lists are some ten megabytes. Seconds. */
const fetchTimeout = 90;
/** A large download from a slow mirror. Seconds. */
const installTimeout = 2 * 3600;
const noApt = 'there is no dpkg and apt on this host, so nothing can be installed';

/**
 * Packages that have to be there. Which of them are missing is asked first, and then what apt
 * would do.
 */
export interface Packages extends Resource {
  /**
   * @returns the missing ones, or why nothing can be installed
   */
  missing(host: Reader): Promise<readonly string[] | Verdict>;
  readonly replaces: Replaces;
}

/** What apt may remove for a package that is missing, by its name. */
type Replaces = Readonly<Record<string, readonly string[]>>;

/**
 * Distribution packages that have to be installed, in the version of the distribution. The plan
 * shows what else apt would install or upgrade. If apt would remove a package, install an older
 * version of one, or change one that is held, nothing is installed.
 *
 * @example packages('tmux', 'ncdu')
 */
export function packages(...names: readonly string[]): Packages {
  for (const name of names) {
    refuseNoText('packages', { name });
    // An option is not a name either.
    if (!/^[a-z0-9][a-z0-9.+-]*$/.test(name)) throw new Error(`"${name}" is no name of a package`);
  }
  return packagesThatLack(`packages ${names.join(', ')}`, async (host) => {
    const [dpkg, ...states] = await Promise.all([
      host.$`command -v dpkg-query && command -v apt-get`,
      ...names.map((name) => host.package(name)),
    ]);
    if (!dpkg.ok) return refused(noApt, `use Debian or Ubuntu, or install by hand: ${names.join(' ')}`);
    return names.filter((_, at) => !states[at]?.installed);
  });
}

/**
 * Packages whose names depend on what the host has.
 *
 * @param name a title
 * @param replaces default: apt removes nothing
 */
export function packagesThatLack(
  name: string,
  missing: Packages['missing'],
  replaces: Replaces = {},
): Packages {
  return {
    name,
    missing,
    replaces,
    async check(host) {
      const seen = await missing(host);
      return 'is' in seen ? seen : installed(host, seen, replaces);
    },
  };
}

/**
 * Packages of several resources in one transaction.
 *
 * @param resources each of them says what is missing, and whether it can be installed
 */
export function inOneTransaction(name: string, resources: readonly Packages[]): Packages {
  const missingOf: Packages['missing'] = async (host) => {
    const seen = await Promise.all(resources.map((resource) => resource.missing(host)));
    const missing: string[] = [];
    for (const each of seen) {
      if ('is' in each) return each;
      missing.push(...each);
    }
    return [...new Set(missing)];
  };
  return packagesThatLack(name, missingOf, Object.assign({}, ...resources.map(({ replaces }) => replaces)));
}

/** Where apt would do harm, as a requirement that is checked before anything changes. */
export function aptDoesNoHarm(resource: Packages): Resource {
  return expectation(`apt does no harm for ${resource.name}`, {
    check: async (host) => {
      const verdict = await resource.check(host);
      return refusalOf(verdict) ? verdict : ok;
    },
  });
}

/** The verdict on packages that are missing. */
async function installed(host: Reader, missing: readonly string[], replaces: Replaces): Promise<Verdict> {
  if (missing.length === 0) return ok;
  // Also where apt has no lists yet.
  const [simulated, ...found] = await Promise.all([
    simulate(host, missing),
    ...missing.flatMap((by) => (replaces[by] ?? []).map((name) => replacement(host, name, by))),
  ]);
  const replaced = found.filter((each) => each !== undefined);
  const names = replaced.map(({ what }) => what);
  return (
    obstacleOf(simulated, missing, names) ?? {
      is: 'drift',
      differences: [
        ...differencesOf(missing, 'without' in simulated ? [] : simulated.installed),
        ...replaced,
      ],
      ...noteOn(simulated),
      change: [installation(missing, names)],
    }
  );
}

/** A package that is there, and goes for another one. */
async function replacement(host: Reader, what: string, by: string): Promise<Difference | undefined> {
  const { installed, version } = await host.package(what);
  return installed ? { what, was: version ?? 'installed', wanted: `replaced by ${by}` } : undefined;
}

/** Why nothing is installed: apt would do harm, or finds no solution by the newest lists. */
function obstacleOf(
  simulated: Simulated,
  missing: readonly string[],
  replaced: readonly string[],
): Verdict | undefined {
  const names = missing.join(', ');
  if (!('without' in simulated)) {
    const harm = harmOf(simulated, replaced);
    return harm && refused(`to install ${names}, apt would ${harm.what}`, harm.hint);
  }
  if (simulated.without === 'lists') return undefined;
  // Lists of a day or more are fetched before the installation, which may find a solution then, or
  // says why not.
  if (simulated.isUnknown || simulated.words === '' || simulated.listsAge > 0) return undefined;
  return refused(
    `apt cannot install ${names}: ${simulated.words}`,
    `see apt-get -s install ${missing.join(' ')}`,
  );
}

const unknownWithoutLists =
  'this host has no package lists, so what else apt would install is not known yet; the run fetches them first, and ends there if apt would remove or downgrade anything that is not named here';
const unknownByTheseLists =
  'apt finds no solution by the package lists on this host; they are fetched again before the installation';

function noteOn(simulated: Simulated): { readonly note?: string } {
  if ('without' in simulated)
    return { note: simulated.without === 'lists' ? unknownWithoutLists : unknownByTheseLists };
  const { listsAge } = simulated;
  return listsAge === 0
    ? {}
    : {
        note: `by package lists that are ${counted(listsAge, 'day')} old; apt fetches them before it installs`,
      };
}

/** What the tool does not let apt do, and what the operator can do about it. */
function harmOf(
  { removed: all, downgraded, held }: Simulation,
  replaced: readonly string[],
): { readonly what: string; readonly hint: string } | undefined {
  const removed = all.filter((each) => !replaced.includes(each.replace(/ .*/, '')));
  if (removed.length > 0) return { what: `remove ${removed.join(', ')}`, hint: removalHint(removed) };
  if (downgraded.length > 0) {
    const hint =
      'see the pins in /etc/apt/preferences.d and apt-cache policy; downgrade by hand if that is right';
    return { what: `install an older version of ${downgraded.join(', ')}`, hint };
  }
  if (held.length > 0) {
    const hint = `they are held at their version; if that may end: apt-mark unhold ${held.join(' ')}`;
    return { what: `change ${held.join(', ')}`, hint };
  }
  return undefined;
}

/** containerd.io is a part of Docker's own packages, which the distribution's Docker replaces. */
function removalHint(removed: readonly string[]): string {
  const names = removed.map((each) => each.split(' ')[0]).join(' ');
  const own = `if nothing needs them: apt-get remove ${names}`;
  return names.split(' ').includes('containerd.io')
    ? `containerd.io belongs to Docker's own packages: install the rest of them (docker-ce docker-ce-cli docker-compose-plugin), and they stay; or, ${own}`
    : `find out what needs them; ${own}`;
}

/** The packages that were asked for, each upgrade, and in one line what is new beside them. */
function differencesOf(missing: readonly string[], all: readonly Installed[]): readonly Difference[] {
  const versions = new Map(all.map(({ name, version }) => [name, version]));
  const others = all.filter(({ name }) => !missing.includes(name));
  const added = others
    .filter(({ was }) => was === undefined)
    .map(({ name, version }) => `${name} ${version}`);
  return [
    ...missing.map((what) => ({ what, was: 'not installed', wanted: versions.get(what) ?? 'installed' })),
    ...others.flatMap(({ name, was, version }) =>
      was === undefined ? [] : [{ what: name, was, wanted: version }],
    ),
    ...(added.length === 0 ? [] : [{ what: 'with them', was: 'not installed', wanted: added.join(', ') }]),
  ];
}

/** One transaction of apt. */
function installation(names: readonly string[], replaced: readonly string[]): Step {
  return {
    do: 'run',
    command: `# apt-get install ${names.join(' ')}\n${withArguments(script, [lockTimeout, fetchTimeout, replaced.join(' '), names])}`,
    timeoutSeconds: installTimeout,
    failure: {
      what: `${names.join(', ')} could not be installed`,
      hint: 'if a mirror of /etc/apt/sources.list and sources.list.d cannot be reached from there, fix it: apt-get update',
    },
  };
}

/**
 * The candidate version of each package, by name, such as `2:1.19~1`. A package that is not in the
 * package lists is left out; on a host without lists that is every package.
 */
export async function candidateVersions(
  host: Reader,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  // Without its caches, which it would write.
  const policy = await host.$`apt-cache -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= policy ${names}`;
  const found = policy.stdout.matchAll(/^(\S+):\n(?: .*\n)*? +Candidate: (?!\(none\))(\S+)$/gm);
  return new Map([...found].map(([, name = '', version = '']) => [name, version]));
}
