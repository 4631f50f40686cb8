import type { Reader } from '../../host/host.ts';
import { readScript, withArguments } from '../../host/script.ts';

const script = readScript(new URL('../../../../templates/host/simulate-packages.sh', import.meta.url));

/** A package that apt installs or replaces by another version. */
export interface Installed {
  readonly name: string;
  /** The version that is there; undefined where it is new. */
  readonly was: string | undefined;
  readonly version: string;
}

/** What apt would do. */
export interface Simulation {
  /** The age of the package lists that it follows. Whole days. */
  readonly listsAge: number;
  /** In apt's order, with what else they need. */
  readonly installed: readonly Installed[];
  /** With the version, such as `containerd.io 1.7.27-1`. */
  readonly removed: readonly string[];
  readonly downgraded: readonly string[];
  /**
   * Packages that the operator holds at their version (`apt-mark hold`), and that would change.
   */
  readonly held: readonly string[];
}

/** There are no package lists, so apt knows nothing. */
interface NoLists {
  readonly without: 'lists';
}

/** Apt finds no solution by its lists. */
interface NoSolution {
  readonly without: 'solution';
  readonly listsAge: number;
  /** Whether a package is in no list, which newer lists may change. */
  readonly isUnknown: boolean;
  /** Apt's own lines. */
  readonly words: string;
}

export type Simulated = Simulation | NoLists | NoSolution;

/** The last solution for a host and packages, with the stamp of the files that it follows. */
const solutions = new Map<string, { readonly stamp: string; readonly solution: Simulation }>();

/**
 * Asks apt what it would do to install these packages, by the package lists that are on the host.
 * Changes nothing. Apt is not asked again while its settings, its lists and dpkg's status are as they
 * were: it takes more than a second of a processor.
 */
export async function simulate(host: Reader, names: readonly string[]): Promise<Simulated> {
  const asked = [host.name, ...names].join(' ');
  const last = solutions.get(asked);
  const output = await host.$`sh -c ${withArguments(script, [last?.stamp ?? '', ...names])}`;
  const text = output.stdout;
  if (output.exitCode === 3) return { without: 'lists' };
  if (output.exitCode === 4 && last) return { ...last.solution, listsAge: ageOf(text) };
  if (output.ok) {
    const solution = parseSimulation(text);
    solutions.set(asked, { stamp: /^\d+ (.*)/.exec(text)?.[1] ?? '', solution });
    return solution;
  }
  const isUnknown = /^E: (Unable to locate package|Package .* has no installation candidate)/m.test(text);
  return { without: 'solution', listsAge: ageOf(text), isUnknown, words: wordsOfApt(text) };
}

/**
 * @param text a line with the age of the lists and a stamp, then the output of `apt-get -q -s
 * install` in the locale C
 */
function parseSimulation(text: string): Simulation {
  const installs = [...text.matchAll(/^Inst (\S+) (?:\[(\S+)\] )?\((\S+) /gm)];
  return {
    listsAge: ageOf(text),
    installed: installs.map(([, name = '', was, version = '']) => ({ name, was, version })),
    // `Purg` is a removal with the settings.
    removed: [...text.matchAll(/^(?:Remv|Purg) (\S+) \[(\S+)\]/gm)].map(
      ([, name, version]) => `${name} ${version}`,
    ),
    downgraded: listed(text, 'The following packages will be DOWNGRADED:'),
    held: listed(text, 'The following held packages will be changed:'),
  };
}

const ageOf = (text: string) => Number(/^\d+/.exec(text)?.[0] ?? 0);

/** The names below a heading, which apt indents. */
function listed(text: string, heading: string): string[] {
  const lines = text.split('\n');
  const at = lines.indexOf(heading);
  if (at < 0) return [];
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => !line.startsWith(' '));
  return rest.slice(0, end < 0 ? rest.length : end).flatMap((line) => line.trim().split(/\s+/));
}

/**
 * The lines that say why apt finds no solution: its errors, and the dependencies that are not met.
 */
function wordsOfApt(text: string): string {
  const lines = text
    .split('\n')
    .filter((line) => /^(E: | .* : | +(Depends|Conflicts|Breaks|PreDepends): )/.test(line));
  return lines
    .slice(0, 6)
    .map((line) => line.trim())
    .join('\n');
}
