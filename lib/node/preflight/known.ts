import type { Reader } from '../../engine/host/host.ts';
import { drift, expectation, ok, type Resource, type Verdict } from '../../engine/resource/resource.ts';

/** How strict an expectation is, and what the operator can do about it. */
type Options = Omit<Parameters<typeof expectation>[1], 'check'>;

/** An expectation on facts and inventory: its verdict is known before the host is asked. */
export function known(name: string, verdict: Verdict, options: Options = {}): Resource {
  return expectation(name, { check: async () => verdict, ...options });
}

/** What has to be so that a check is not needed, for `skipWhen`. */
export function goal(isReached: (reader: Reader) => Promise<boolean>): Pick<Resource, 'check'> {
  return { check: async (reader) => ((await isReached(reader)) ? ok : drift([])) };
}
