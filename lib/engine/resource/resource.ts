import type { Reader, Writer } from '../host/host.ts';

/** One thing that differs. Text is shown line by line. It never contains a secret. */
export interface Difference {
  readonly what: string;
  readonly was: string;
  readonly wanted: string;
}

/** The result of a check. */
export type Verdict =
  | { readonly is: 'ok' }
  | { readonly is: 'drift'; readonly differences: readonly Difference[]; readonly note?: string }
  /** It cannot be known before something else is true: the usual result on a bare host. */
  | { readonly is: 'unknown'; readonly until: string };

export const ok: Verdict = { is: 'ok' };

/** Drift as a sentence (`not accepting connections`) or as differences. */
export function drift(difference: string | readonly Difference[]): Verdict {
  return typeof difference === 'string'
    ? { is: 'drift', differences: [], note: difference }
    : { is: 'drift', differences: difference };
}

/** Drift if anything differs. */
export function driftOf(differences: readonly Difference[]): Verdict {
  return differences.length === 0 ? ok : drift(differences);
}

/** @param until the condition that has to be met first, in the words of an operator: `docker is installed` */
export function unknownUntil(until: string): Verdict {
  return { is: 'unknown', until };
}

/**
 * A thing that a host should have or be. It is a value: creating one changes nothing.
 *
 * `check` only reads. `apply` is called only after drift, must converge in one go or throw, and is followed by another `check` that
 * has to be ok.
 */
export interface Resource {
  /** A title in the words of an operator: `docker root is /data/docker`. Unique on a host. */
  readonly name: string;
  check(host: Reader): Promise<Verdict>;
  apply(host: Writer): Promise<void>;
  /** Set on an expectation: the tool cannot fix it. Drift of `must` fails the host, drift of `should` is a warning. */
  readonly expects?: 'must' | 'should';
  /** Set if `apply` waits for an expectation to be met by itself. It is then applied while it is unknown, too. */
  readonly waits?: true;
  /** What the operator can do about a failed expectation. */
  readonly hint?: string;
  /** The effects on the host when these differences are fixed, in the words that `follows` of others use. */
  changes?(differences: readonly Difference[]): readonly string[];
  /** Changes of others after which this is done or checked again: check mode shows it beforehand. */
  readonly follows?: readonly Following[];
  /** A condition that is checked before a change. The resource is not changed if it is not met. */
  readonly everyHost?: EveryHost;
}

/** A condition on every host of the inventory, inside and outside of the limit, before a resource is changed. */
export interface EveryHost {
  /** A title: `no other synchronizer runs`. */
  readonly name: string;
  /**
   * Checks one host of the inventory, `host.name`.
   *
   * @param unseen hosts that could not be checked, and that the operator declares to be stopped
   */
  check(host: Reader, unseen: readonly string[]): Promise<Verdict>;
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

/** Applies a part of a larger resource if it is needed. */
export async function applyDrift(host: Writer, part: Resource): Promise<void> {
  if ((await part.check(host)).is !== 'ok') await part.apply(host);
}

/** A resource without a kind of its own. */
export function task(name: string, parts: Pick<Resource, 'check' | 'apply'>): Resource {
  return { name, ...parts };
}

/** A requirement that the tool can check and cannot fix. @param options `severity` as in `expects`, default `must` */
export function expectation(
  name: string,
  check: (host: Reader) => Promise<Verdict>,
  options: { readonly hint?: string; readonly severity?: 'must' | 'should' } = {},
): Resource {
  return {
    name,
    check,
    expects: options.severity ?? 'must',
    ...(options.hint === undefined ? {} : { hint: options.hint }),
    apply: async (host) => {
      const verdict = await check(host);
      if (verdict.is !== 'ok') throw new ExpectationFailed(name, verdict, options.hint);
    },
  };
}

/** A requirement that only the operator can meet. */
class ExpectationFailed extends Error {
  readonly hint: string | undefined;

  constructor(name: string, verdict: Verdict, hint?: string) {
    super(`${name}: ${describeVerdict(verdict)}`);
    this.name = 'ExpectationFailed';
    this.hint = hint;
  }
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

/** Why an expectation is not met, and on a separate line what to do. */
export function describeUnmet({ hint }: Resource, verdict: Verdict): string {
  return [describeVerdict(verdict), ...(hint === undefined ? [] : [hint])].join('\n');
}

function oneLine(text: string): string {
  const lines = text.split('\n');
  return lines.length > 1 ? `${lines.length} lines` : text || '(nothing)';
}
