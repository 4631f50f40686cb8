import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { labDeployment } from '../../node/testing/lab-deployment.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Writes for a while, and then ends with 7. */
const script = `
  import { outliveOutput } from './lib/engine/command-line/closed-pipe.ts';
  outliveOutput();
  for (let i = 0; i < 50; i++) {
    process.stdout.write('a line of output\\n');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  process.exitCode = 7;
`;

/** @param closes the stream that is closed after the first line */
async function outlived(stdout: 'pipe' | number, closes: readonly ('stdout' | 'stderr')[]) {
  const command = ['--import', 'tsx', '--input-type=module', '-e', script];
  const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', stdout, 'pipe'] });
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
});

test('a rendering ends silently when only its first line is read', async () => {
  const render = `npx --no-install zx playbooks/render.mjs -i ${await labDeployment()} --diff older | head -1`;
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', render], { cwd: root });
  expect([stdout, stderr.replaceAll(/^npm warn.*\n/gm, '')]).toEqual(['--- lab\n', '']);
});
