import { execFile } from 'node:child_process';

/** Time limit of ssh, in milliseconds: its configuration may run programs of the operator (`Match exec`). */
const timeLimit = 10_000;

/** Runs ssh with these options. @returns its standard output and its log; undefined where ssh is missing, fails or takes too long */
export function runSsh(options: readonly string[]) {
  return new Promise<{ readonly printed: string; readonly log: string } | undefined>((resolve) => {
    execFile('ssh', options, { timeout: timeLimit }, (error, printed, log) =>
      resolve(error ? undefined : { printed, log }),
    );
  });
}
