import { execFile } from 'node:child_process';
import pLimit from 'p-limit';

/**
 * Time limit of ssh, in milliseconds: its configuration may run programs of the operator (`Match
 * exec`).
 */
const timeLimit = 10_000;

/**
 * In milliseconds. A command that watches hosts runs for days, and the answers change with
 * ssh_config.
 */
const keptFor = 60_000;

/** Each takes some milliseconds of processor time, or waits for a program of the operator. */
const atOnce = pLimit(16);

/**
 * How ssh ended: with its output and its standard error, with its words alone, not within its time
 * limit; or there is no such program.
 */
export type SshEnd =
  | { readonly end: 'printed'; readonly printed: string; readonly said: string }
  | { readonly end: 'failed'; readonly said: string }
  | { readonly end: 'late'; readonly seconds: number }
  | { readonly end: 'missing' };

/** By PATH, by which ssh is found, and the options of ssh. */
const answers = new Map<string, Promise<SshEnd>>();

/**
 * Runs ssh with these options, which make it print something and end. All hosts behind a jump host
 * ask for that, so an answer is kept. Never throws.
 */
export function runSsh(options: readonly string[]): Promise<SshEnd> {
  const key = [process.env.PATH, ...options].join('\0');
  const forget = () => answers.delete(key);
  const answer =
    answers.get(key) ?? atOnce(() => start(options)).finally(() => void setTimeout(forget, keptFor).unref());
  answers.set(key, answer);
  return answer;
}

function start(options: readonly string[]): Promise<SshEnd> {
  return new Promise((resolve) => {
    // Without standard input: a program that ssh_config names must not take what is typed here.
    const ssh = execFile(
      'ssh',
      options,
      { timeout: timeLimit, killSignal: 'SIGKILL' },
      (error, printed, said) => {
        if (!error) resolve({ end: 'printed', printed, said });
        else if (error.code === 'ENOENT') resolve({ end: 'missing' });
        else if (error.killed) resolve({ end: 'late', seconds: timeLimit / 1000 });
        else resolve({ end: 'failed', said: wordsOf(said) || error.message });
      },
    );
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
