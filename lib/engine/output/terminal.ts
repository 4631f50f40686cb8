import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { exitCode, Problem } from '../problem/problem.ts';
import type { Ask } from '../secret/ask.ts';
import { wrappedFor } from './wrapped.ts';

/**
 * Asks the operator on standard error. Ctrl-C and a closed terminal reject with a Problem of exit
 * code 130.
 */
export interface Terminal {
  /** Does not echo the answer. */
  readonly hidden: Ask;
  readonly shown: Ask;
}

/** The terminal of the process, or undefined where standard input is not a terminal. */
export function terminal(): Terminal | undefined {
  if (!process.stdin.isTTY) return undefined;
  return {
    hidden: (question) => ask(question, new Writable({ write: (_chunk, _encoding, done) => done() })),
    shown: (question) => ask(question, process.stderr),
  };
}

/** What draws on the terminal, and rests while a question is there. */
interface Drawing {
  pause(): void;
  resume(): void;
}

const drawings = new Set<Drawing>();

/**
 * Keeps a question from being drawn over.
 *
 * @returns ends that
 */
export function restsForQuestions(drawing: Drawing): () => void {
  drawings.add(drawing);
  return () => void drawings.delete(drawing);
}

function ask(question: string, echo: Writable): Promise<string> {
  for (const drawing of drawings) drawing.pause();
  process.stderr.write(wrappedFor(question, process.stderr));
  const lines = createInterface({ input: process.stdin, output: echo, terminal: true, historySize: 0 });
  return new Promise<string>((resolve, reject) => {
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => reject(new Problem('interrupted', { code: exitCode.interrupted })));
  }).finally(() => {
    if (echo !== process.stderr) process.stderr.write('\n');
    for (const drawing of drawings) drawing.resume();
  });
}

/**
 * Asks for a password without echo.
 *
 * @throws Problem where there is no terminal, and on Ctrl-C with exit code 130
 */
export async function askPassword(question: string): Promise<string> {
  const asks = terminal();
  if (asks) return asks.hidden(question);
  throw new Problem('there is no terminal to ask for a password on', {
    hint: 'name the password in the inventory instead: become_password: env:NAME, file:PATH or secret:NAME',
  });
}
