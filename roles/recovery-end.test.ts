import { expect, test } from 'vitest';
import { contextOf } from '../lib/node/testing/role-context.ts';
import recoveryEnd from './recovery-end.ts';

test('without a recovery, and after a drill, nothing is looked for', async () => {
  const resources = async (given: Readonly<Record<string, string>>) =>
    recoveryEnd.resources({ ...(await contextOf({})), given });
  expect(await resources({})).toEqual([]);
  expect(await resources({ 'to-time': 'latest', drill: '' })).toEqual([]);
});
