import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { isAbandoned } from './abandoned.mjs';

let state: string;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'rpc-playbooks-abandoned-'));
});

/** A process that started a lab for a while. */
async function started() {
  const program = `import { noteForAWhile } from ${JSON.stringify(join(import.meta.dirname, 'abandoned.mjs'))};
    await noteForAWhile(${JSON.stringify(state)});
    console.log('noted');
    process.stdin.on('data', () => process.exit());`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

test('a lab without a note is kept by somebody', () => {
  expect(isAbandoned(state)).toBe(false);
});

test('a lab of a running process is not left over', async () => {
  const owner = await started();
  expect(isAbandoned(state)).toBe(false);
  owner.kill('SIGKILL');
});

test.each([
  ['ended', (owner: Awaited<ReturnType<typeof started>>) => owner.stdin.write('end\n')],
  ['was killed', (owner: Awaited<ReturnType<typeof started>>) => owner.kill('SIGKILL')],
])('a lab of a process that %s is left over', async (_, end) => {
  const owner = await started();
  end(owner);
  await expect.poll(() => isAbandoned(state)).toBe(true);
});

test('a process that has noted it can end by itself', async () => {
  const owner = await started();
  owner.stdin.end();
  expect(await once(owner, 'exit')).toEqual([0, null]);
});
