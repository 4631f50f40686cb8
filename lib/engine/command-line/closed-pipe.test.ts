import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { transformSync } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { labDeployment } from '../../node/testing/lab-deployment.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** As JavaScript, because a process that compiles it takes ten times as long to start. */
const { code } = transformSync(readFileSync(join(import.meta.dirname, 'closed-pipe.ts'), 'utf8'), {
  loader: 'ts',
});

/** Writes for a while, and then ends with a code. */
const script = (ends: number) => `
  ${code}
  outliveOutput();
  for (let i = 0; i < 20; i++) {
    process.stdout.write('a line of output\\n');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  process.exitCode = ${ends};
`;

/**
 * @param closes the stream that is closed after the first line
 */
async function outlived(stdout: 'pipe' | number, closes: readonly ('stdout' | 'stderr')[], ends = 7) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script(ends)], {
    cwd: root,
    stdio: ['ignore', stdout, 'pipe'],
  });
  let complained = '';
  child.stderr?.on('data', (data) => {
    complained += data;
  });
  child.stdout?.once('data', () => {
    for (const name of closes) child[name]?.destroy();
  });
  const [code] = await once(child, 'close');
  return { code, complained };
}

test('a process goes on silently when nobody reads its output any more', async () => {
  expect(await outlived('pipe', ['stdout'])).toEqual({ code: 7, complained: '' });
  expect(await outlived('pipe', ['stdout', 'stderr'])).toMatchObject({ code: 7 });
});

test('a full disk is reported once', async () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  expect(await outlived(full, [])).toEqual({
    code: 7,
    complained: 'the output cannot be written (ENOSPC) and ends here\n',
  });
  // Half of an output is not a success.
  expect(await outlived(full, [], 0)).toMatchObject({ code: 1 });
  expect(await outlived('pipe', ['stdout'], 0)).toMatchObject({ code: 0 });
});

test('a rendering ends silently when only its first line is read', async () => {
  const render = `node node_modules/zx/build/cli.js playbooks/render.mjs -i ${await labDeployment()} --diff older | head -1`;
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', render], { cwd: root });
  expect([stdout, stderr]).toEqual(['--- lab\n', '']);
});
