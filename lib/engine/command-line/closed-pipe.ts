interface Output {
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
  write(text: string): unknown;
}

/**
 * Lets the process go on where its output cannot be written. When whoever read it has closed the pipe (`| head`), the rest is
 * dropped without a word. Anything else, such as a full disk, is told once on standard error.
 */
export function outliveOutput(out: Output = process.stdout, err: Output = process.stderr): void {
  let quiet = false;
  out.on('error', ({ code }) => {
    if (!quiet && code !== 'EPIPE')
      err.write(`the output cannot be written (${code ?? 'unknown error'}): it ends here\n`);
    quiet = true;
  });
  // There is nowhere left to tell it.
  err.on('error', () => {});
}

/** Ends the process with its output: for a command that is at work for nothing else, again and again. */
export function endWithOutput(out: Output = process.stdout): void {
  out.on('error', () => process.exit());
}
