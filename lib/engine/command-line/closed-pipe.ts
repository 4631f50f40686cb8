interface Stream {
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
  write(text: string): unknown;
}

/**
 * Keeps the process running when its output cannot be written. A closed pipe (`| head`) drops the
 * rest silently. Any other error, such as a full disk, is reported once on standard error, and the
 * process does not end with 0.
 */
export function outliveOutput(out: Stream = process.stdout, err: Stream = process.stderr): void {
  let quiet = false;
  out.on('error', ({ code }) => {
    if (!quiet && code !== 'EPIPE') {
      err.write(`the output cannot be written (${code ?? 'unknown error'}) and ends here\n`);
      // Whoever reads the file would take half of the output for all of it.
      process.once('exit', () => {
        process.exitCode ||= 1;
      });
    }
    quiet = true;
  });
  // No output is left to report it on.
  err.on('error', () => {});
}

/** Ends the process when its output is closed: for a command that prints repeatedly. */
export function endWithOutput(out: Stream = process.stdout): void {
  out.on('error', () => process.exit());
}
