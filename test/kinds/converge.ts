import { expect } from 'vitest';
import type { Difference, Resource } from '../../lib/engine/resource/resource.ts';
import { applyDrift, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';

/**
 * Does what the engine does with a resource that drifts: check, change, check again.
 *
 * @returns the differences of the first check
 */
export async function converge(host: TestHost, resource: Resource): Promise<readonly Difference[]> {
  const before = await resource.check(host);
  expect(before, `${resource.name}, before`).toMatchObject({ is: 'drift' });
  await applyDrift(host, resource);
  expect(await resource.check(host), `${resource.name}, after`).toEqual({ is: 'ok' });
  return before.is === 'drift' ? before.differences : [];
}
