import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run as completionsCommand } from './command.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

test.each([
  [[], 'the name of the shell is missing\n  one of bash, zsh'],
  [['bsh'], 'unexpected word "bsh"\n  did you mean bash?'],
  [['toString'], 'unexpected word "toString"\n  known: bash, zsh'],
])('%j is refused', async (args, words) => {
  const complained: string[] = [];
  expect(
    await completionsCommand(args, {
      root,
      own: {},
      say: () => expect.fail(),
      complain: (text) => complained.push(text),
    }),
  ).toBe(3);
  expect(complained).toEqual([words]);
});
