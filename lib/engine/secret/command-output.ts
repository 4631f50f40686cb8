import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import pLimit from 'p-limit';
import { errorCode } from '../text/error-code.ts';
import { redact } from './secret.ts';

/** A password manager may wait for a fingerprint. Seconds. */
const timeLimit = 60;

/**
 * Standard error that is kept. Only its first line is shown, and only as a whole: half a secret
 * would not be masked. Characters.
 */
const mostComplaint = 64 * 1024;

/**
 * A command of the inventory that failed. Its message continues the command; what the command
 * printed on standard output is never in it.
 */
export class SecretCommandFailed extends Error {}

const outputs = new Map<string, Promise<string>>();
// One after the other: a password manager may ask its user in a window.
const inTurn = pLimit(1);

/**
 * The output of a shell command on this machine. Each command runs once in a process, also when
 * many hosts refer to it.
 *
 * @param folder the command runs there
 * @param longest more output is an error. Bytes
 * @param seconds time limit; then it and its children are killed
 * @throws SecretCommandFailed where it ends with an error, takes too long or prints too much
 */
export function outputOf(
  command: string,
  folder: string,
  longest: number,
  seconds = timeLimit,
): Promise<string> {
  const key = `${resolve(folder)}\0${command}`;
  const output = outputs.get(key) ?? inTurn(() => start(command, folder, longest, seconds));
  outputs.set(key, output);
  return output;
}

function start(command: string, cwd: string, longest: number, seconds: number): Promise<string> {
  return new Promise((done, failed) => {
    const { child, watch, kill } = startWatched(command, cwd);
    const printed: Buffer[] = [];
    let complaint = '';
    let fault: string | undefined;
    const end = (why: string) => {
      fault ??= why;
      kill();
    };
    const timer = setTimeout(() => end(`did not end within ${seconds} s`), seconds * 1000);
    child.stdout.on('data', (bytes: Buffer) => {
      printed.push(bytes);
      if (printed.reduce((sum, { length }) => sum + length, 0) > longest)
        end(`prints more than ${longest} bytes`);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (complaint.length < mostComplaint) complaint += text;
    });
    child.on('error', (error) => {
      clearTimeout(timer);
      failed(new SecretCommandFailed(`cannot be started (${errorCode(error)})`));
    });
    child.on('exit', () => watch.end('the command has ended\n'));
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (fault === undefined && code === 0) done(Buffer.concat(printed).toString('utf8'));
      else failed(new SecretCommandFailed(fault ?? whyEnded(code, signal, complaint)));
    });
  });
}

/**
 * Starts a command in a process group of its own, so that its children end with it. It has neither our
 * input nor the terminal.
 */
function startWatched(command: string, cwd: string) {
  const child = spawn('/bin/sh', ['-c', watchedCommand, 'sh', command], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  }) as ChildProcessByStdio<null, Readable, Readable>;
  const watch = child.stdio[3] as Writable;
  // It may have ended.
  watch.on('error', () => {});
  const kill = () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  return { child, watch, kill };
}

/**
 * A shell that becomes the one of the command. Before it, there is a watch in its process group, which
 * ends the group with this process, however this process ends: then descriptor 3 closes without a
 * line. Ctrl-C on the terminal does not reach the group.
 */
const watchedCommand =
  '(read -r _ <&3 && exit; kill -s KILL 0) >/dev/null 2>&1 & exec 3<&-; exec /bin/sh -c "$1"';

/** Colours of a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: each begins with one
const colour = /\x1b\[[\d;]*m/g;
/** The frame that OpenTofu draws around an error. */
const frame = /^[\s\u2500-\u257f]+/;

/**
 * How a command ended, with the first line of its standard error that has words: a warning before
 * an error is passed over. A line that was cut is left out: a secret in it could not be masked.
 */
function whyEnded(code: number | null, signal: string | null, complaint: string): string {
  const lines = redact(complaint.trim()).split('\n');
  if (complaint.length >= mostComplaint) lines.pop();
  const words = lines
    .map((line) => line.replaceAll(colour, '').replace(frame, '').trim())
    .filter((line) => line !== '');
  const said = words.find((line) => !/^warning\b/i.test(line)) ?? words[0];
  const ending = signal ? `was ended by ${signal}` : `ended with ${code}`;
  return `${ending}${said ? `: ${said}` : ''}`;
}
