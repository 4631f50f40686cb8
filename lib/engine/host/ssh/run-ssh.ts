import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { quote } from '../quote.ts';

/** A shell can be told to write to nine descriptors at most, and three of them are the usual ones. */
const descriptors = [3, 4, 5, 6, 7, 8, 9];

/** How long ssh may take: its configuration may run programs of the operator's (`Match exec`). Milliseconds. */
const patience = 10_000;

interface Question {
  readonly options: readonly string[];
  readonly answer: (said: string) => void;
}

let asked: Question[] = [];

/**
 * What ssh prints with these options. Questions of one tick are asked by one shell, at the same time: Node stands still for some
 * milliseconds whenever it starts a process, and a run begins with a question for each host.
 *
 * @returns nothing where there is no ssh client, where it takes too long, or cannot make sense of its configuration
 */
export function runSsh(options: readonly string[]): Promise<string> {
  return new Promise((answer) => {
    if (asked.length === 0) setImmediate(askAll);
    asked.push({ options, answer });
  });
}

function askAll(): void {
  const all = asked;
  asked = [];
  for (let at = 0; at < all.length; at += descriptors.length) askTogether(all.slice(at, at + descriptors.length));
}

/** Each answer ends when its own ssh does: no other process has its descriptor open. */
function askTogether(questions: readonly Question[]): void {
  const closed = descriptors.map((descriptor) => `${descriptor}>&-`).join(' ');
  const lines = questions.map(
    ({ options }, index) => `ssh ${quote(options)} >&${descriptors[index]} ${closed} &\n__p="$__p $!"`,
  );
  const script = `__p=\n${lines.join('\n')}\ntrap 'kill $__p' TERM\nexec ${closed}\nwait`;
  const shell = spawn('sh', ['-c', script], {
    stdio: ['ignore', 'ignore', 'ignore', ...questions.map(() => 'pipe' as const)],
  });
  const timer = setTimeout(() => shell.kill(), patience);
  shell.on('error', () => clearTimeout(timer));
  shell.on('exit', () => clearTimeout(timer));
  for (const [index, { answer }] of questions.entries()) {
    const pipe = shell.stdio[descriptors[index] ?? -1];
    // Where there is no shell, there is no pipe.
    if (pipe) text(pipe as NodeJS.ReadableStream & AsyncIterable<unknown>).then(answer, () => answer(''));
    else answer('');
  }
}
