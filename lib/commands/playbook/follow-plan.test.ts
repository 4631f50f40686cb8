import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { lastingName } from './follow-plan.ts';

test.each([
  ['lab', 'lab'],
  ['own.yaml', resolve('own.yaml')],
  ['inventory/lab.yaml', resolve('inventory/lab.yaml')],
  ['/srv/own.yaml', '/srv/own.yaml'],
])('a plan of the inventory %s keeps %s, which every working directory finds', (given, kept) => {
  expect(lastingName(given, given === 'lab' ? 'inventory/lab.yaml' : given)).toBe(kept);
});
