import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { isAbandoned, noteForAWhile } from './abandoned.mjs';

let state: string;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'rpc-playbooks-abandoned-'));
});

test('a lab without a note is kept by somebody', async () => {
  expect(await isAbandoned(state)).toBe(false);
});

test('a lab of a running process is not left over', async () => {
  await noteForAWhile(state);
  expect(await isAbandoned(state)).toBe(false);
});

test('a lab of an ended process is left over', async () => {
  const program = `import { noteForAWhile } from ${JSON.stringify(join(import.meta.dirname, 'abandoned.mjs'))};
    await noteForAWhile(${JSON.stringify(state)});`;
  execFileSync(process.execPath, ['--input-type=module', '--eval', program]);
  expect(await isAbandoned(state)).toBe(true);
});

test('a lab from before a restart of the machine is left over, also where its number runs again', async () => {
  await noteForAWhile(state);
  const file = join(state, 'for-a-while');
  const note = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...note, boot: '6d9c1a9e-4b8f-4d0e-9a53-2f0b7f7f3c11' }));
  expect(await isAbandoned(state)).toBe(true);
});
