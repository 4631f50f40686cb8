import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commandGroups } from './commands.mjs';

const scripts = readdirSync(new URL('../../playbooks', import.meta.url)).flatMap(
  (name) => /^(.+)\.mjs$/.exec(name)?.[1] ?? [],
);

test('the list has each script in playbooks/ once', () => {
  const listed = commandGroups.flatMap(({ commands }) => commands.map(({ name }) => name));
  expect(listed.sort()).toEqual(scripts.sort());
});

test('each sentence is an imperative without a full stop', () => {
  for (const { sentence } of commandGroups.flatMap(({ commands }) => commands)) {
    expect(sentence).toMatch(/^[a-z][^.]*[^.]$/);
    expect(sentence.length).toBeLessThan(64);
  }
});
