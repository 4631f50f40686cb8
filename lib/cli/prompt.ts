import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { Problem } from '../problem.ts';

/**
 * Asks on the terminal without showing what is typed.
 *
 * @throws Problem where there is no terminal to ask on
 */
export async function askPassword(question: string): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new Problem('there is no terminal to ask for a password on', {
      hint: 'name the password in the inventory instead: become_password: env:NAME or file:PATH',
    });
  }
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
