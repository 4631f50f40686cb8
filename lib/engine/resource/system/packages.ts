import type { Reader, Writer } from '../../host/host.ts';
import { CommandFailed, type Output } from '../../host/output.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { pause } from '../job/pause.ts';
import { drift, ok, type Resource } from '../resource.ts';

/** How long another apt (unattended upgrades at boot, say) may hold its locks. Seconds. */
const lockTimeout = 300;
const lockPoll = 5;
/** Package lists older than this are fetched anew. Minutes. */
const listsAge = 24 * 60;
/** A large download from a slow mirror. Seconds. */
const installTimeout = 3600;

/** Package lists are some ten megabytes. Seconds. */
const fetchTimeout = 90;
const fetchAttempts = 4;

/** Distribution packages that have to be installed, in whatever version the distribution gives. Never removes one. */
export function packages(...names: readonly string[]): Resource {
  for (const name of names) {
    // Also keeps a name from being read as an option.
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
      if (absent === undefined) return drift('there is no dpkg and apt on this host, so nothing can be installed');
      if (absent.length === 0) return ok;
      return drift(absent.map((what) => ({ what, was: 'not installed', wanted: 'installed' })));
    },

    async apply(host) {
      const absent = await missing(host);
      if (absent === undefined) {
        throw new Problem('there is no dpkg and apt on this host, so nothing can be installed', {
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
    // A broken foreign repository is no reason to stop, unless nothing can be installed for it.
    if (updateFailure && error instanceof CommandFailed) {
      throw new Problem(`${error.message}\nthe package lists could not be fetched either: ${updateFailure.message}`, {
        hint: 'see that the mirrors in /etc/apt/sources.list and sources.list.d can be reached from there: apt-get update',
        code: exitCode.failed,
        cause: error,
      });
    }
    throw error;
  }
}

/** Whether there are lists, not too old, newer than the sources they come from, and with a candidate for each name. */
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
 * The version that the package manager would install of each package, by name, as `2:1.19~1`. A package that is not in its lists is
 * left out: on a host without lists, every one.
 */
export async function candidateVersions(host: Reader, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  // Without its caches, which it would write: this only looks.
  const policy = await host.$`apt-cache -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= policy ${names}`;
  const found = policy.stdout.matchAll(/^(\S+):\n(?: .*\n)*? +Candidate: (?!\(none\))(\S+)$/gm);
  return new Map([...found].map(([, name = '', version = '']) => [name, version]));
}

/** @returns why it failed, or undefined. apt's lock on the lists has no time limit of its own, so it is waited for here. */
async function update(host: Writer): Promise<CommandFailed | undefined> {
  host.progress({ what: 'fetching package lists' });
  for (let waited = 0; ; waited += lockPoll) {
    try {
      await fetchLists(host);
      return undefined;
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      if (!isLocked(error.output) || waited >= lockTimeout) return error;
      host.progress({ what: 'waiting for another apt', done: waited, total: lockTimeout, unit: 'seconds' });
      await pause(host, lockPoll);
    }
  }
}

/** apt at times waits for ever on a connection that a proxy has closed; what it has fetched so far is not fetched again. */
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
  const run = () =>
    host.run({ timeoutSeconds: installTimeout })`DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
-o DPkg::Lock::Timeout=${lockTimeout} -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold install ${names}`;
  try {
    await run();
  } catch (error) {
    if (!(error instanceof CommandFailed && wasInterrupted(error.output))) throw error;
    await host.run({
      timeoutSeconds: installTimeout,
    })`DEBIAN_FRONTEND=noninteractive dpkg --configure -a --force-confdef --force-confold`;
    await run();
  }
}

function isLocked({ stderr }: Output): boolean {
  return /Could not get lock|Unable to lock/.test(stderr);
}

/** An installation that was cut off (power, a lost connection) is finished first, as dpkg itself asks for. */
function wasInterrupted({ stderr }: Output): boolean {
  return stderr.includes('dpkg --configure -a');
}
