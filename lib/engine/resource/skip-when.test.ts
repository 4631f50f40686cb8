import { expect, test } from 'vitest';
import type { Reader } from '../host/host.ts';
import { drift, ok, task, unknownUntil, type Verdict } from './resource.ts';
import { okWhen, skipWhen } from './skip-when.ts';

const host = {} as Reader;
const needed = task('archive is there', { check: async () => drift('absent'), work: async () => {} });
const goal = (verdict: Verdict) => ({ check: async () => verdict });

test('once the goal is reached, its preparation is no longer needed and not checked', async () => {
  const check = async () => Promise.reject(new Error('checked'));
  expect(await skipWhen(goal(ok), { ...needed, check }).check(host)).toEqual(ok);
});

test.each([drift('not restored'), unknownUntil('state-db is running')])(
  'until then the resource is checked itself',
  async (verdict) => {
    expect(await skipWhen(goal(verdict), needed).check(host)).toMatchObject(drift('absent'));
    expect(skipWhen(goal(verdict), needed).name).toBe('archive is there');
  },
);

test('a resource with a substitute is ok, and both are checked at the same time', async () => {
  const order: string[] = [];
  const noting = (name: string, verdict: Verdict) => async () => {
    order.push(`${name} asked`);
    await Promise.resolve();
    order.push(`${name} answered`);
    return verdict;
  };
  const resource = { ...needed, check: noting('chrony', drift('absent')) };
  expect(await okWhen({ check: noting('timesyncd', ok) }, resource).check(host)).toEqual(ok);
  expect(order.slice(0, 2)).toEqual(['chrony asked', 'timesyncd asked']);
  expect(await okWhen(goal(drift('off')), needed).check(host)).toMatchObject(drift('absent'));
});
