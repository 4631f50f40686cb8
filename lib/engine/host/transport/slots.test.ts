import { expect, test } from 'vitest';
import { Slots } from './slots.ts';

/** Work that ends when it is told to, and notes that it began. */
function pieces(slots: Slots, count: number) {
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const all = Array.from({ length: count }, (_, at) =>
    slots.run(async () => {
      started.push(at);
      await new Promise<void>((resolve) => {
        ends[at] = resolve;
      });
    }),
  );
  return { started, end: (at: number) => ends[at]?.(), all };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

test('no more than so many at once, the others in order', async () => {
  const { started, end, all } = pieces(new Slots(2), 4);
  await soon();
  expect(started).toEqual([0, 1]);
  end(1);
  await soon();
  expect(started).toEqual([0, 1, 2]);
  for (const at of [0, 2]) end(at);
  await soon();
  end(3);
  await Promise.all(all);
  expect(started).toEqual([0, 1, 2, 3]);
});

test('lowered, it lets nobody in before enough have ended, and never comes down to none', async () => {
  const slots = new Slots(3);
  const { started, end } = pieces(slots, 5);
  await soon();
  slots.lower();
  end(0);
  await soon();
  expect(started).toEqual([0, 1, 2]);
  end(1);
  await soon();
  expect(started).toEqual([0, 1, 2, 3]);
  end(2);
  await soon();
  slots.lower();
  end(3);
  end(4);
  await soon();
  expect(await slots.run(async () => slots.busy)).toBe(1);
});

test('work that fails gives its slot back', async () => {
  const slots = new Slots(1);
  await expect(slots.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await slots.run(async () => 'yes')).toBe('yes');
});
