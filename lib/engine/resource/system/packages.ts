import type { Reader, Writer } from '../../host/host.ts';
import { CommandFailed } from '../../host/output.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { pause } from '../job/pause.ts';
import { drift, driftOf, type Resource } from '../resource.ts';

/** How long another apt, such as unattended upgrades at boot, may hold its locks. Seconds. */
const lockTimeout = 300;
const lockPoll = 5;
/** Older package lists are fetched again. Minutes. */
const listsAge = 24 * 60;
/** A large download from a slow mirror. Seconds. */
const installTimeout = 3600;
/** Package lists are some ten megabytes. Seconds. */
const fetchTimeout = 90;
const fetchAttempts = 4;
const noApt = 'there is no dpkg and apt on this host, so nothing can be installed';

/** Distribution packages that have to be installed, in the version of the distribution. None is removed. */
export function packages(...names: readonly string[]): Resource {
  for (const name of names) {
    // An option is not a name either.
    if (!/^[a-z0-9][a-z0-9.+-]*$/.test(name)) throw new Error(`"${name}" is no name of a package`);
  }
  const missing = async (host: Reader) => {
    const [dpkg, ...states] = await Promise.all([
      host.$`command -v dpkg-query && command -v apt-get`,
      ...names.map((name) => host.package(name)),
    ]);
    return dpkg.ok ? names.filter((_, at) => !states[at]?.installed) : undefined;
  };

  return {
    name: `packages ${names.join(', ')}`,

    async check(host) {
      const absent = await missing(host);
      if (absent === undefined) return drift(noApt);
      return driftOf(absent.map((what) => ({ what, was: 'not installed', wanted: 'installed' })));
    },

    async apply(host) {
      const absent = await missing(host);
      if (absent === undefined) {
        throw new Problem(noApt, {
          hint: `use Debian or Ubuntu, or install by hand: ${names.join(' ')}`,
          code: exitCode.failed,
        });
      }
      if (absent.length > 0) await install(host, absent);
    },
  };
}

async function install(host: Writer, names: readonly string[]): Promise<void> {
  const updateFailure = (await listsAreFresh(host, names)) ? undefined : await update(host);
  host.progress({ what: `installing ${names.join(', ')}` });
  try {
    await aptInstall(host, names);
  } catch (error) {
    // A broken third-party repository is no reason to stop if the packages can be installed.
    if (!updateFailure || !(error instanceof CommandFailed)) throw error;
    throw new Problem(`${error.message}\nthe package lists could not be fetched either: ${updateFailure.message}`, {
      hint: 'check that the mirrors in /etc/apt/sources.list and sources.list.d can be reached from there: apt-get update',
      code: exitCode.failed,
      cause: error,
    });
  }
}

/** Whether the package lists are recent, newer than their sources, and have a candidate for each name. */
async function listsAreFresh(host: Writer, names: readonly string[]): Promise<boolean> {
  const [lists, young, newerSources, candidates] = await Promise.all([
    host.$`find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' -print -quit`,
    host.$`find /var/lib/apt/lists -maxdepth 0 -mmin ${`-${listsAge}`}`,
    host.$`find /etc/apt/sources.list /etc/apt/sources.list.d -newer /var/lib/apt/lists -print -quit`,
    candidateVersions(host, names),
  ]);
  return lists.text() !== '' && young.text() !== '' && newerSources.text() === '' && candidates.size === names.length;
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

/** Waits for the lock of the lists, for which apt has no time limit. @returns why it failed, or undefined */
async function update(host: Writer): Promise<CommandFailed | undefined> {
  host.progress({ what: 'fetching package lists' });
  for (let waited = 0; ; waited += lockPoll) {
    try {
      await fetchLists(host);
      return undefined;
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      if (!/Could not get lock|Unable to lock/.test(error.output.stderr) || waited >= lockTimeout) return error;
      host.progress({ what: 'waiting for another apt', done: waited, total: lockTimeout, unit: 'seconds' });
      await pause(host, lockPoll);
    }
  }
}

/** apt may wait forever on a connection that a proxy has closed. The next attempt keeps the fetched part. */
async function fetchLists(host: Writer): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await host.run({ timeoutSeconds: fetchTimeout })`apt-get -q update`;
      return;
    } catch (error) {
      if (!(error instanceof CommandFailed && error.output.timedOut) || attempt === fetchAttempts) throw error;
    }
  }
}

async function aptInstall(host: Writer, names: readonly string[]): Promise<void> {
  const run = host.run({ timeoutSeconds: installTimeout });
  const install = () =>
    run`DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
-o DPkg::Lock::Timeout=${lockTimeout} -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold install ${names}`;
  try {
    await install();
  } catch (error) {
    // An earlier installation was interrupted: dpkg demands that it is finished first.
    if (!(error instanceof CommandFailed && error.output.stderr.includes('dpkg --configure -a'))) throw error;
    await run`DEBIAN_FRONTEND=noninteractive dpkg --configure -a --force-confdef --force-confold`;
    await install();
  }
}
