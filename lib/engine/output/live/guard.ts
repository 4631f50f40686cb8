import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/**
 * Waits until its input is closed, when its parent is gone, and clears everything below the
 * cursor.
 */
const script = "cat >/dev/null; printf '\\033[J'";

/**
 * Clears the live lines of a process that was killed. Otherwise the shell's prompt would overwrite
 * them.
 *
 * @param descriptor of the terminal
 * @returns removes the guard
 */
export function guard(descriptor: number): () => void {
  const stdio: ['pipe', number, 'ignore'] = ['pipe', descriptor, 'ignore'];
  // In its own session, so that Ctrl-C does not end it first.
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio, env: {} });
  const input = child.stdin as Socket;
  for (const stream of [child, input]) {
    stream.on('error', () => {});
    stream.unref();
  }
  return () => void child.kill('SIGKILL');
}
