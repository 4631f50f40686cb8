import {
  durationOf,
  type Given,
  parseCommandLine,
  shared,
  wholeNumber,
} from '../../engine/command-line/command-line.ts';
import { yamlDocuments } from '../../engine/file/yaml-documents.mjs';
import type { DiffShown } from '../../engine/output/lines.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { OwnOption, OwnValues } from '../../engine/run/playbook.ts';
import { fieldsOf } from '../../engine/text/keys.ts';
import { didYouMean } from '../../engine/text/suggest.ts';

/** The command line of a playbook, checked. */
export interface Options {
  readonly inventory: string | undefined;
  readonly check: boolean;
  /** A host pattern. */
  readonly limit: string | undefined;
  /** Names of roles; none mean all. */
  readonly roles: readonly string[];
  readonly skippedRoles: readonly string[];
  readonly startAt: string | undefined;
  readonly step: boolean;
  /** Variables that override the inventory's, in the order given. */
  readonly set: readonly SetVariable[];
  /** Hosts that may be unreachable when every host has to be checked. */
  readonly assumedStopped: readonly string[];
  /** Hosts in parallel. */
  readonly forks: number;
  /** Of an attempt to connect, in seconds. */
  readonly timeout: number | undefined;
  readonly listHosts: boolean;
  readonly listTasks: boolean;
  readonly diff: DiffShown;
  /** A file for the plan of check mode. */
  readonly out: string | undefined;
  /** A file with the plan to follow. */
  readonly plan: string | undefined;
  readonly report: string | undefined;
  readonly breakLock: boolean;
  /** How long to wait for the locks of other runs, in seconds. */
  readonly wait: number | undefined;
  readonly yes: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly color: boolean;
  /** A private key that opens the secrets file. */
  readonly identity: string | undefined;
  readonly askBecomePass: boolean;
  readonly verbose: boolean;
  readonly help: boolean;
  /** The playbook's own options. */
  readonly own: OwnValues;
}

/** One `--set KEY=VALUE`. */
export interface SetVariable {
  readonly path: readonly string[];
  readonly value: unknown;
  /** `KEY=VALUE` as given. */
  readonly said: string;
}

/** The options of every playbook, in the order of its help. */
export const runOptions = {
  inventory: shared.inventory,
  check: { help: 'check mode: show what would change, change nothing' },
  limit: shared.limit,
  role: { value: 'NAME', repeat: true, help: 'only these roles: a,b (may be repeated)', completes: 'role' },
  'skip-role': {
    value: 'NAME',
    repeat: true,
    help: 'every role except these: a,b (may be repeated)',
    completes: 'role',
  },
  'start-at': { value: 'TITLE', help: 'start at this task; --list-tasks shows the titles' },
  step: { help: 'ask before each change' },
  set: {
    value: 'KEY=VALUE',
    repeat: true,
    help: 'override a variable on every host: --set ports.rpc_http=18123 (may be repeated)',
  },
  'assume-stopped': {
    value: 'HOST[,HOST]',
    help: 'skip these hosts if they are unreachable; only if you are certain that their\nsynchronizer is stopped: two of them corrupt the database',
    completes: 'host',
  },
  out: { value: 'FILE', help: 'with --check: save the plan, to apply it with --plan', completes: 'file' },
  plan: {
    value: 'FILE',
    help: 'apply a saved plan on its hosts; refused if anything has changed since',
    completes: 'file',
  },
  'break-lock': { help: 'take over the lock of another run, which stops if it is alive' },
  wait: {
    value: 'DURATION',
    help: 'wait this long for the lock of another run, then make the plan: 10m, 1h, 90 (seconds)\n(default: end at once with code 5)',
  },
  yes: { short: 'y', help: 'change without asking; without a terminal a run never asks' },
  diff: { help: 'show whole diffs (default: long new files are shortened)' },
  'no-diff': { help: 'show what changes, without diffs' },
  'list-hosts': { help: 'list the hosts of the run and exit' },
  'list-tasks': { help: 'list the tasks of each host in order and exit (connects to the hosts)' },
  forks: shared.forks,
  timeout: { value: 'SECONDS', help: 'seconds to wait for a login (default: 15)' },
  identity: shared.identity,
  'ask-become-pass': shared['ask-become-pass'],
  report: {
    value: 'FILE',
    help: 'write a report of the run, one HTML page; playbooks/report.mjs writes it later, too',
    completes: 'file',
  },
  json: shared.json,
  quiet: { short: 'q', help: 'show only problems and the summary' },
  verbose: shared.verbose,
  'no-color': shared['no-color'],
  help: shared.help,
} as const;

/** Five times Ansible's: a host costs one connection here, not a process. */
const defaultForks = 25;

/** Pairs of options that contradict each other. */
const contrary: readonly (readonly [keyof typeof runOptions, keyof typeof runOptions])[] = [
  ['diff', 'no-diff'],
  ['quiet', 'verbose'],
  ['check', 'step'],
  ['json', 'step'],
  ['yes', 'step'],
  ['check', 'wait'],
  ['break-lock', 'wait'],
  ['list-hosts', 'list-tasks'],
  ['list-hosts', 'json'],
  ['list-tasks', 'json'],
  ['list-hosts', 'report'],
  ['list-tasks', 'report'],
  ['list-hosts', 'out'],
  ['list-tasks', 'out'],
];

/**
 * Reads the options of a playbook, strictly.
 *
 * @param args the words after the script
 * @param roleNames the roles of the playbook, for `--role`
 * @param own the playbook's own options
 * @throws Problem for an unknown option, a missing or unexpected word, an unknown role, and
 * contradicting options
 */
export function parseOptions(
  args: readonly string[],
  roleNames: readonly string[],
  own: Readonly<Record<string, OwnOption>> = {},
): Options {
  const { given } = parseCommandLine(args, { ...runOptions, ...own } as typeof runOptions);
  refuseContrary(given, Object.keys(own));
  const roles = listed(given.role);
  const skippedRoles = listed(given['skip-role']);
  refuseUnknownRoles([...roles, ...skippedRoles], roleNames);
  return {
    inventory: given.inventory,
    check: given.check,
    limit: given.limit,
    roles,
    skippedRoles,
    startAt: given['start-at'],
    step: given.step,
    set: setVariables(given.set),
    assumedStopped: given['assume-stopped'] === undefined ? [] : hostNames(given['assume-stopped']),
    forks: wholeNumber('--forks', given.forks, 9999) ?? defaultForks,
    timeout: wholeNumber('--timeout', given.timeout, 3600),
    listHosts: given['list-hosts'],
    listTasks: given['list-tasks'],
    diff: diffShown(given),
    out: given.out,
    plan: given.plan,
    report: given.report,
    breakLock: given['break-lock'],
    wait: durationOf('--wait', given.wait),
    yes: given.yes,
    json: given.json,
    quiet: given.quiet,
    color: !given['no-color'],
    identity: given.identity,
    askBecomePass: given['ask-become-pass'],
    verbose: given.verbose,
    help: given.help,
    own: given.help ? {} : ownValues(own, given),
  };
}

/**
 * Refuses options that contradict each other.
 *
 * @param own names of the playbook's own options
 * @throws Problem with both names
 */
function refuseContrary(given: Given<typeof runOptions>, own: readonly string[]): void {
  for (const [one, other] of contrary) {
    if (given[one] && given[other]) throw contradiction(one, other);
  }
  if (given.out !== undefined && !given.check) {
    throw new Problem('--out saves the plan of check mode', { hint: 'add --check' });
  }
  if (given.plan === undefined) return;
  const narrowing = ['check', 'limit', 'role', 'skip-role', 'start-at', 'set', 'step', 'assume-stopped'];
  for (const fixed of [...narrowing, ...own]) {
    const said = fieldsOf(given)[fixed];
    const isGiven = said !== undefined && said !== false && !(Array.isArray(said) && said.length === 0);
    if (isGiven)
      throw new Problem(`--plan and --${fixed} do not go together`, {
        hint: 'a plan is followed as it was made',
      });
  }
}

const contradiction = (one: string, other: string) =>
  new Problem(`--${one} and --${other} do not go together`, { hint: 'leave one of them out' });

function diffShown({ diff, verbose, 'no-diff': none }: Given<typeof runOptions>): DiffShown {
  if (none) return 'none';
  return diff || verbose ? 'whole' : 'short';
}

/**
 * @throws Problem for one that is missing, or has another form
 */
function ownValues(
  own: Readonly<Record<string, OwnOption>>,
  given: Readonly<Record<string, unknown>>,
): OwnValues {
  const said = Object.entries(own).flatMap(([name, option]) => {
    const { value, required, form, help, completes } = option;
    const text = given[name];
    if (text) refuseWithoutUse(name, option, given);
    if (text === undefined && required && given.plan === undefined)
      throw new Problem(`--${name} is missing`, { hint: `--${name} ${value}: ${help}` });
    if (typeof text === 'string' && form && !form.pattern.test(text)) {
      throw new Problem(`--${name} ${text}: ${form.words}`);
    }
    if (typeof text === 'string' && typeof completes === 'object' && !completes.includes(text))
      throw new Problem(`--${name} ${text}: unknown`, { hint: didYouMean(text, completes) });
    return text === undefined || text === false
      ? []
      : [[name, typeof text === 'string' ? text : ''] as const];
  });
  return Object.fromEntries(said);
}

/**
 * @throws Problem for an option that would be passed over
 */
function refuseWithoutUse(
  name: string,
  { goesWith, notBeside }: OwnOption,
  given: Readonly<Record<string, unknown>>,
): void {
  if (goesWith !== undefined && !given[goesWith]) {
    const hint = `add --${goesWith}, or leave --${name} out`;
    throw new Problem(`--${name} goes with --${goesWith}`, { hint });
  }
  if (notBeside !== undefined && given[notBeside]) throw contradiction(name, notBeside);
}

/** The names of options that may be given several times, or once with commas. */
function listed(given: readonly string[]): readonly string[] {
  return given.flatMap((list) => list.split(',').map((name) => name.trim()));
}

/**
 * @throws Problem where a name between two commas is missing
 */
function hostNames(list: string): readonly string[] {
  const names = list.split(',');
  if (!names.includes('')) return names;
  throw new Problem(`--assume-stopped "${list}": a name is missing`, {
    hint: 'such as --assume-stopped rpc-1,rpc-2',
  });
}

/** No variable is nested deeper. */
const deepest = 20;

/**
 * @throws Problem for a role that the playbook does not have
 */
export function refuseUnknownRoles(roles: readonly string[], known: readonly string[]): void {
  const role = roles.find((each) => !known.includes(each));
  if (role !== undefined) throw new Problem(`unknown role "${role}"`, { hint: didYouMean(role, known) });
}

/**
 * @throws Problem for a key with two values, of which one would be lost
 */
function setVariables(said: readonly string[]): readonly SetVariable[] {
  const over = said.map(parseSet);
  const keys = over.map(({ path }) => path.join('.'));
  const twice = keys.find((key, index) => keys.indexOf(key) < index);
  if (twice !== undefined)
    throw new Problem(`--set ${twice} is given twice`, { hint: 'keep one of the two' });
  return over;
}

/**
 * Reads a `KEY=VALUE`. The value is YAML, as in an inventory. The schema checks its type later.
 * Errors leave the value out, which may be a password.
 *
 * @throws Problem for any other form
 */
export function parseSet(said: string): SetVariable {
  const [, key = said, value] = /^([^=]*)=([\s\S]*)$/.exec(said) ?? [];
  const path = key.split('.');
  const shown = value === undefined ? key : `${key}=…`;
  if (value === undefined || path.includes('')) {
    throw new Problem(`--set ${shown}: must be KEY=VALUE`, { hint: 'such as --set ports.rpc_http=18123' });
  }
  if (path.length > deepest)
    throw new Problem(`--set: the key has ${path.length} parts, more than any variable`);
  try {
    const [document, second] = yamlDocuments(value, {});
    if (second || document.errors.length > 0 || document.warnings.length > 0)
      throw new Error('not plain YAML');
    return { path, value: document.toJS({ maxAliasCount: 0 }) as unknown, said };
  } catch {
    throw new Problem(`--set ${shown}: the value is not plain YAML`, {
      hint: 'put the value in quotes: --set key=\'"text"\'',
    });
  }
}
