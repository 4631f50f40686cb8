import { expect, test } from 'vitest';
import { mapWithForks } from './limit.ts';

test('never more than forks at once, and results in the order of the items', async () => {
  let running = 0;
  let most = 0;
  const results = await mapWithForks([5, 1, 3, 2, 4], 2, async (n) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, n));
    running -= 1;
    return n * 10;
  });
  expect(most).toBe(2);
  expect(results).toEqual([50, 10, 30, 20, 40]);
});

test('an error of one item is the error of all', async () => {
  await expect(
    mapWithForks([1, 2], 1, async () => {
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
});

test('an error waits for items under way, and no new item starts', async () => {
  const said: string[] = [];
  const failing = mapWithForks(['fails', 'slow', 'later'], 2, async (item) => {
    said.push(`${item} begins`);
    if (item === 'fails') throw new Error('no');
    await new Promise((resolve) => setTimeout(resolve, 20));
    said.push(`${item} ends`);
  });
  await expect(failing).rejects.toThrow('no');
  expect(said).toEqual(['fails begins', 'slow begins', 'slow ends']);
});
