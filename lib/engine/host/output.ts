import { redact } from '../secret/secret.ts';

/**
 * The output of a command, similar to zx's ProcessOutput. Text is UTF-8; `bytes` is the unchanged
 * standard output.
 */
export class Output {
  readonly exitCode: number;
  readonly bytes: Buffer;
  readonly stderr: string;
  /** Whether the time limit ended it. */
  readonly timedOut: boolean;
  /** How long a read took on the host. */
  readonly seconds: number;

  constructor(exitCode: number, stdout: Buffer, stderr: string, timedOut = false, seconds = 0) {
    this.exitCode = exitCode;
    this.bytes = stdout;
    this.stderr = stderr;
    this.timedOut = timedOut;
    this.seconds = seconds;
  }

  get ok(): boolean {
    return this.exitCode === 0;
  }

  get stdout(): string {
    return this.bytes.toString('utf8');
  }

  /** Standard output without the white space around it. */
  text(): string {
    return this.stdout.trim();
  }

  /** Lines of standard output, without empty ones. */
  lines(): string[] {
    return this.stdout.split('\n').filter((line) => line.trim() !== '');
  }
}

/** A command that changes something failed. */
export class CommandFailed extends Error {
  readonly output: Output;

  constructor(command: string, output: Output) {
    const cause = output.timedOut ? 'took longer than its time limit' : `exited with ${output.exitCode}`;
    const last = redact(output.stderr).trim().split('\n').slice(-8).join('\n');
    super(`command ${cause}: ${redact(withoutScripts(command))}${last ? `\n${last}` : ''}`);
    this.name = 'CommandFailed';
    this.output = output;
  }
}

/** A script in a command would bury the words of its failure. The plan shows it. */
function withoutScripts(command: string): string {
  return command.replace(/'(?:[^']|'\\'')*'/g, (word) => (word.includes('\n') ? "'…'" : word));
}
