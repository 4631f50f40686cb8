import { expect, test } from 'vitest';
import type { Reader } from '../host/host.ts';
import { drift, ok, task, unknownUntil, type Verdict } from './resource.ts';
import { skipWhen } from './skip-when.ts';

const host = {} as Reader;
const needed = task('archive is there', { check: async () => drift('absent'), apply: async () => {} });
const goal = (verdict: Verdict) => ({ check: async () => verdict });

test('once the goal is reached, what it took is no longer needed', async () => {
  expect(await skipWhen(goal(ok), needed).check(host)).toEqual(ok);
});

test.each([drift('not restored'), unknownUntil('state-db is running')])(
  'until then it is looked at for itself',
  async (verdict) => {
    expect(await skipWhen(goal(verdict), needed).check(host)).toEqual(drift('absent'));
    expect(skipWhen(goal(verdict), needed).name).toBe('archive is there');
  },
);
