import { expect, test } from 'vitest';
import { contextOf } from '../lib/node/testing/role-context.ts';
import switchFrom from './switch-from.ts';
import switchTo from './switch-to.ts';

test('without --to, as in another playbook, nothing is ended or promoted', async () => {
  const context = { ...(await contextOf({})), given: {} };
  expect([await switchFrom.resources(context), await switchTo.resources(context)]).toEqual([[], []]);
});
