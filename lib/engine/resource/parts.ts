import type { Reader } from '../host/host.ts';
import { Problem } from '../problem/problem.ts';
import type { Resource } from './resource.ts';

/** A resource that another one consists of, and the text in front of each of its differences. */
export type Part = readonly [title: string, resource: Resource];

/**
 * Checks the parts of a resource, all in one request.
 *
 * @returns what differs, the steps of each part, and why one of them is not changed, if a change
 * could lose something
 */
export async function checkParts(host: Reader, parts: readonly Part[]) {
  const verdicts = await Promise.all(parts.map(([, resource]) => resource.check(host)));
  const changes = verdicts.map((verdict) => (verdict.is === 'drift' && verdict.change) || []);
  const differences = verdicts.flatMap((verdict, at) =>
    verdict.is !== 'drift'
      ? []
      : verdict.differences.map((difference) => ({
          ...difference,
          what: `${parts[at]?.[0]}${difference.what}`,
        })),
  );
  const refusal = changes.find((change) => change instanceof Problem);
  return { differences, refusal, steps: changes.map((change) => (change instanceof Problem ? [] : change)) };
}
