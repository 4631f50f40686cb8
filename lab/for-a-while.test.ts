import { expect, test } from 'vitest';
import { withLabForAWhile } from './for-a-while.mjs';

/**
 * @returns what happens around work that leaves the lab up or down
 */
async function around(before: boolean, after: boolean, fails = false) {
  const done: string[] = [];
  let up = before;
  const work = async () => {
    up = after;
    done.push('work');
    if (fails) throw new Error('a test failed');
    return 7;
  };
  const result = await withLabForAWhile(work, {
    exists: async () => up,
    note: async () => {
      done.push('noted');
      return async () => void done.push('note ended');
    },
    down: async () => void done.push('down'),
  }).catch((error: Error) => error.message);
  return [...done, result];
}

test('a lab that the work started is taken down after it, also when the work fails', async () => {
  expect(await around(false, true)).toEqual(['noted', 'work', 'down', 'note ended', 7]);
  expect(await around(false, true, true)).toEqual(['noted', 'work', 'down', 'note ended', 'a test failed']);
});

test('a lab that was there before stays, and where none was started nothing is taken down', async () => {
  expect(await around(true, true)).toEqual(['work', 7]);
  expect(await around(false, false)).toEqual(['noted', 'work', 'note ended', 7]);
});
