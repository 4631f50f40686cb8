import type { Reader, Writer } from '../host/host.ts';
import type { Step } from '../host/step.ts';
import { Failure, Problem } from '../problem/problem.ts';

/** One thing that differs. Text is shown line by line. It never contains a secret. */
export interface Difference {
  readonly what: string;
  readonly was: string;
  readonly wanted: string;
}

/**
 * What ends drift: the steps in order, made from what the check saw; or why nothing is changed, if
 * that could lose something.
 */
export type Change = readonly Step[] | Problem;

/** The result of a check. */
export type Verdict =
  /** Of a condition for every host: what the plan says of this one. */
  | { readonly is: 'ok'; readonly note?: string }
  | {
      readonly is: 'drift';
      readonly differences: readonly Difference[];
      readonly note?: string;
      /** Left out where only the operator or the work of the resource ends it. */
      readonly change?: Change;
      /** Of an expectation: this drift is a warning, also where `expects` is `must`. */
      readonly warns?: true;
      /** Of an expectation with `work`: one look cannot say whether it is met. */
      readonly undecided?: true;
    }
  /** It cannot be known before something else is true: the usual result on a bare host. */
  | { readonly is: 'unknown'; readonly until: string };

export const ok: Verdict = { is: 'ok' };

/** Drift as a sentence (`not accepting connections`) or as differences, and what ends it. */
export function drift(difference: string | readonly Difference[], change?: Change): Verdict {
  const seen =
    typeof difference === 'string' ? { differences: [], note: difference } : { differences: difference };
  return { is: 'drift', ...seen, ...(change && { change }) };
}

/** Drift of an expectation that is a warning in this case, and fails the host in others. */
export function warning(what: string): Verdict {
  return { is: 'drift', differences: [], note: what, warns: true };
}

/** Drift of an expectation that only its `work` can judge: check mode warns, and a run waits. */
export function undecided(what: string): Verdict {
  return { is: 'drift', differences: [], note: what, undecided: true };
}

/**
 * Whether what a check found is reported as a warning: the run goes on, and nothing is changed.
 */
export function isWarning(resource: Resource, seen: Verdict): boolean {
  return (
    seen.is === 'drift' &&
    resource.expects !== undefined &&
    (resource.expects === 'should' || seen.warns === true)
  );
}

/** Drift if anything differs. */
export function driftOf(differences: readonly Difference[], change?: Change): Verdict {
  return differences.length === 0 ? ok : drift(differences, change);
}

/**
 * Drift that the tool does not change.
 *
 * @param what a sentence.
 * @param hint what the operator can do
 */
export function refused(what: string, hint: string): Verdict {
  return drift(what, new Failure(what, { hint }));
}

/**
 * @param until the condition that has to be met first, in the words of an operator: `docker is
 * installed`
 */
export function unknownUntil(until: string): Verdict {
  return { is: 'unknown', until };
}

/**
 * A thing that a host should have or be. It is a value: creating one changes nothing.
 *
 * `check` only reads, and answers drift with the change that ends it. After the change the same
 * `check` has to be ok.
 */
export interface Resource {
  /** A title in the words of an operator: `docker root is /data/docker`. Unique on a host. */
  readonly name: string;
  check(host: Reader): Promise<Verdict>;
  /**
   * Only kinds that have to look in between have it: see `Work`. It follows the steps of the
   * change.
   */
  work?(host: Writer): Promise<void>;
  /** Whether the end of `work` or of the steps is the proof: no check follows. */
  readonly provesItself?: true;
  /**
   * Set on an expectation: the tool cannot fix it. Drift of `must` fails the host, drift of
   * `should` is a warning.
   */
  readonly expects?: 'must' | 'should';
  /** What the operator can do about a failed expectation. */
  readonly hint?: string;
  /**
   * The effects on the host when these differences are fixed, in the words that `follows` of
   * others use.
   */
  changes?(differences: readonly Difference[]): readonly string[];
  /**
   * Changes of others after which this is done or checked again: check mode shows it beforehand.
   */
  readonly follows?: readonly Following[];
  /** A condition that is checked before a change. The resource is not changed if it is not met. */
  readonly everyHost?: EveryHost;
}

/**
 * A resource that cannot say beforehand all that it does, as it has to look in between: it watches
 * long work, waits for a server, or moves data. A plan shows no commands of `work`. An expectation
 * with `work` waits, also while it is unknown.
 */
export interface Work extends Resource {
  work(host: Writer): Promise<void>;
}

/**
 * A condition on every host of the inventory, inside and outside of the limit, before a resource
 * is changed.
 */
export interface EveryHost {
  /** A title: `no other synchronizer runs`. */
  readonly name: string;
  /**
   * Checks one host of the inventory, `host.name`.
   *
   * @param unseen hosts that could not be checked, and that the operator declares to be stopped
   * @param reach another host of the inventory, by its name, for a check that compares two;
   * undefined where it cannot be reached
   */
  check(
    host: Reader,
    unseen: readonly string[],
    reach: (name: string) => Reader | undefined,
  ): Promise<Verdict>;
  /** What the operator can do if it is not met. */
  readonly hint: string;
}

/** How a resource follows a change of another. */
interface Following {
  /** As in `changes`. */
  readonly what: string;
  /** The consequence, with the resource as the subject: `is restarted`. */
  readonly effect: string;
  readonly certain: boolean;
}

/**
 * The steps that end a verdict.
 *
 * @returns none where the work of the resource ends it
 * @throws the Problem of a change that could lose something, Failure for a requirement that only
 * the operator can meet
 */
export function stepsThatEnd(resource: Resource, verdict: Verdict): readonly Step[] {
  const change = verdict.is === 'drift' ? verdict.change : undefined;
  if (change instanceof Problem) throw change;
  if (!change && !resource.work)
    throw new Failure(`${resource.name}: ${describeVerdict(verdict)}`, { hint: resource.hint });
  return change ?? [];
}

/** A resource without a kind of its own. */
export function task<Parts extends Pick<Resource, 'check' | 'work'>>(
  name: string,
  parts: Parts,
): Parts & Resource {
  return { name, ...parts };
}

/**
 * A requirement that the tool can check and cannot fix.
 *
 * @param parts `severity` as in `expects`, default `must`
 */
export function expectation(
  name: string,
  {
    severity = 'must',
    ...parts
  }: Pick<Resource, 'check' | 'hint'> & { readonly severity?: 'must' | 'should' },
): Resource {
  return { name, ...parts, expects: severity };
}

/** A verdict in one line. */
export function describeVerdict(verdict: Verdict): string {
  switch (verdict.is) {
    case 'ok':
      return 'ok';
    case 'unknown':
      return `unknown until ${verdict.until}`;
    case 'drift':
      return (
        verdict.note ??
        verdict.differences.map((d) => `${d.what}: ${oneLine(d.was)} -> ${oneLine(d.wanted)}`).join('; ')
      );
  }
}

/**
 * Why an expectation is not met, and on a separate line what to do: what the verdict says, or else
 * the expectation.
 */
export function describeUnmet(resource: Resource, verdict: Verdict): string {
  const hint = refusalOf(verdict)?.hint || resource.hint;
  return [describeVerdict(verdict), ...(hint ? [hint] : [])].join('\n');
}

/** Why the tool does not end drift, if it does not. */
export function refusalOf(verdict: Verdict): Problem | undefined {
  return verdict.is === 'drift' && verdict.change instanceof Problem ? verdict.change : undefined;
}

function oneLine(text: string): string {
  const lines = text.split('\n');
  return lines.length > 1 ? `${lines.length} lines` : text || '(nothing)';
}

// The changes of resources, in the words of `changes` and `follows`.

export const fileChange = (path: string): string => `file ${path}`;
export const unitChange = (unit: string): string => `unit ${unit}`;
export const containerChange = (container: string): string => `container ${container}`;

const attributes = ['mode', 'owner', 'group'];

/** A change of the attributes alone does not matter to the readers of a file. */
export function changesOfFile(path: string): (differences: readonly Difference[]) => readonly string[] {
  return (differences) =>
    differences.every(({ what }) => attributes.includes(what)) ? [] : [fileChange(path)];
}

/** A check of the program in a container is outdated after a change of the container. */
export function checkedAgainAfter<R extends Resource>(resource: R, container: string): R {
  return {
    ...resource,
    follows: [{ what: containerChange(container), effect: 'is checked again', certain: true }],
  };
}
