import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { recordFolder } from '../../lib/node/project/project-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const words = ['node_modules/zx/build/cli.js', 'test/terminal/slow.mjs', '--inventory', 'here'];

/** Runs of the slow playbook (slow.mjs), each test in a directory of its own. */
export function slowRuns() {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'slow-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));
  afterAll(() => {
    const records = existsSync(recordFolder) ? readdirSync(recordFolder) : [];
    for (const name of records) if (name.includes('-ctrl-c-test.')) rmSync(join(recordFolder, name));
  });
  return {
    directory: () => directory,

    /** Runs it in its own process. */
    start(...options: readonly string[]) {
      const env = { ...process.env, NO_COLOR: '1', SLOW_DIRECTORY: directory };
      const child = spawn(process.execPath, [...words, ...options], { cwd: root, env });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
      const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
        child.on('close', (code) => resolve({ code, output })),
      );
      return { child, ended, output: () => output };
    },

    /** Waits until a task has started, or is done. */
    made: (name: string) => until(() => existsSync(join(directory, name)), `${name} is not made`),
  };
}

/** Waits for a condition, for two minutes at most: a busy machine is slow. */
export async function until(condition: () => boolean, otherwise: string): Promise<void> {
  for (const end = performance.now() + 120_000; !condition(); await delay(20)) {
    if (performance.now() > end) throw new Error(otherwise);
  }
}
