import { expect } from 'vitest';
import { ok, type Resource } from '../resource.ts';
import { fakeHost } from './fake-host.ts';
import { applyDrift } from './test-host.ts';

/**
 * The text of the one file that a resource edits, after a change that its check accepts.
 *
 * @param text before the change
 */
export async function textAfter(resource: Resource, text: string): Promise<string> {
  let now = text;
  const memory = fakeHost([], {
    read: async () => Buffer.from(now),
    place: (step) => {
      if (step.do === 'rewrite') now = step.content;
    },
  });
  await applyDrift(memory, resource);
  expect(await resource.check(memory)).toEqual(ok);
  return now;
}
