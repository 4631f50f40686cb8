import { expect, test } from 'vitest';
import { Secret } from '../secret/secret.ts';
import type { CommandOptions, Word } from './host.ts';
import { Output } from './output.ts';
import { shell } from './shell.ts';

function recorder() {
  const seen: [string, CommandOptions][] = [];
  const $ = shell(async (command, options) => {
    seen.push([command, options]);
    return new Output(0, Buffer.from(''), '');
  });
  return { $, seen };
}

test('words are quoted, arrays become several words, the text around them is unchanged', async () => {
  const { $, seen } = recorder();
  await $`ls -l ${'a b'} ${['x', "it's", 7]}${[]} | wc -l`;
  expect(seen).toEqual([["ls -l 'a b' x 'it'\\''s' 7 | wc -l", {}]]);
});

test('options come before the template', async () => {
  const { $, seen } = recorder();
  await $({ timeoutSeconds: 5, allow: [0, 1] })`grep ${'x'} /etc/passwd`;
  expect(seen).toEqual([['grep x /etc/passwd', { timeoutSeconds: 5, allow: [0, 1] }]]);
});

test('a secret as a word rejects before anything runs', async () => {
  const { $, seen } = recorder();
  await expect($`login ${new Secret('hunter22') as unknown as Word}`).rejects.toThrow(/stdin/);
  expect(seen).toEqual([]);
});

test('it runs in its own tick', () => {
  const { $, seen } = recorder();
  void $`true`;
  expect(seen.length).toBe(1);
});
