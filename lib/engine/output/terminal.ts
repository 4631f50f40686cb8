import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { exitCode, Problem } from '../problem/problem.ts';
import type { Ask } from '../secret/ask.ts';

/** Questions to the operator, on standard error. Both end with a Problem, code 130, on Ctrl-C and where the terminal closes. */
export interface Terminal {
  /** Does not show what is typed. */
  readonly hidden: Ask;
  readonly shown: Ask;
}

/** The terminal that the process was started on, or undefined where there is none to ask on. */
export function terminal(): Terminal | undefined {
  if (!process.stdin.isTTY) return undefined;
  return {
    hidden: (question) => ask(question, new Writable({ write: (_chunk, _encoding, done) => done() })),
    shown: (question) => ask(question, process.stderr),
  };
}

function ask(question: string, echo: Writable): Promise<string> {
  process.stderr.write(question);
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
  });
}

/**
 * Asks for a password without showing what is typed.
 *
 * @throws Problem where there is no terminal to ask on, and with the code of an interrupted run on Ctrl-C
 */
export async function askPassword(question: string): Promise<string> {
  const asks = terminal();
  if (asks) return asks.hidden(question);
  throw new Problem('there is no terminal to ask for a password on', {
    hint: 'name the password in the inventory instead: become_password: env:NAME, file:PATH or secret:NAME',
  });
}
