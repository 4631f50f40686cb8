import type { Reader } from '../../engine/host/host.ts';
import { drift, expectation, ok, type Resource, type Verdict } from '../../engine/resource/resource.ts';

interface Options {
  /** Whether a verdict that is not ok fails the host, which is the default, or is a warning. */
  readonly severity?: 'must' | 'should';
  /** What the operator can do about it. */
  readonly hint?: string;
}

/** An expectation on facts and inventory: its verdict is known before the host is asked. */
export function known(name: string, verdict: Verdict, options: Options): Resource {
  return expectation(name, { check: async () => verdict, ...options });
}

/**
 * A requirement before anything is changed. Where it cannot be known yet, the run comes to it
 * again in its turn.
 */
export function beforehand(name: string, resource: Resource): Resource {
  return {
    ...resource,
    name,
    check: async (host) => {
      const verdict = await resource.check(host);
      return verdict.is === 'unknown' ? ok : verdict;
    },
  };
}

/** What has to be so that a check is not needed, for `skipWhen`. */
export function goal(isReached: (reader: Reader) => Promise<boolean>): Pick<Resource, 'check'> {
  return { check: async (reader) => ((await isReached(reader)) ? ok : drift([])) };
}
