import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Waits for the end of its input, which comes when whoever holds it is gone, and clears what stands below the cursor. */
const script = "cat >/dev/null; printf '\\033[J'";

/**
 * Clears the live lines of a process that is killed and can no longer do it: the shell's prompt would be written over them.
 *
 * @param descriptor of the terminal
 * @returns takes the guard away
 */
export function guard(descriptor: number): () => void {
  const stdio: ['pipe', number, 'ignore'] = ['pipe', descriptor, 'ignore'];
  // In a session of its own, so that Ctrl-C does not end it before us.
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio, env: {} });
  const input = child.stdin as Socket;
  for (const stream of [child, input]) {
    stream.on('error', () => {});
    stream.unref();
  }
  return () => void child.kill('SIGKILL');
}
