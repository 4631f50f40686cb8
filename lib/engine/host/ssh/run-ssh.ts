import { execFile } from 'node:child_process';
import pLimit from 'p-limit';

/** Time limit of ssh, in milliseconds: its configuration may run programs of the operator (`Match exec`). */
const timeLimit = 10_000;

/** Each takes some milliseconds of processor time, or waits for a program of the operator. */
const atOnce = pLimit(16);

/** How ssh ended: with its output, with its words (its standard error), not within its time limit; or there is no such program. */
export type SshEnd =
  | { readonly end: 'printed'; readonly printed: string }
  | { readonly end: 'failed'; readonly said: string }
  | { readonly end: 'late'; readonly seconds: number }
  | { readonly end: 'missing' };

/** Runs ssh with these options, which make it print something and end. Never throws. */
export function runSsh(options: readonly string[]): Promise<SshEnd> {
  return atOnce(() => start(options));
}

function start(options: readonly string[]): Promise<SshEnd> {
  return new Promise((resolve) => {
    // Without standard input: a program that ssh_config names must not take what is typed here.
    const ssh = execFile('ssh', options, { timeout: timeLimit, killSignal: 'SIGKILL' }, (error, printed, said) => {
      if (!error) resolve({ end: 'printed', printed });
      else if (error.code === 'ENOENT') resolve({ end: 'missing' });
      else if (error.killed) resolve({ end: 'late', seconds: timeLimit / 1000 });
      else resolve({ end: 'failed', said: wordsOf(said) || error.message });
    });
    ssh.stdin?.on('error', () => {});
    ssh.stdin?.end();
  });
}

/** Without the line about a terminal, which it says to any program. */
function wordsOf(said: string): string {
  return said
    .replaceAll('\r', '')
    .replace(/^Pseudo-terminal will not be allocated.*\n/gm, '')
    .trim();
}
