import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shellSettings } from './shell-settings.ts';

test('a value stays inside its quotes, whatever it holds', () => {
  const values = { PATHS: "/a b it's $(id) `id` \\", JOBS: 4, EMPTY: '' };
  const script = `${shellSettings(values)}printf '%s|' "$PATHS" "$JOBS" "$EMPTY"`;
  expect(execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' })).toBe("/a b it's $(id) `id` \\|4||");
});
