import { fileURLToPath } from 'node:url';
import { completionsCommand } from './command.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

/** Runs the completions command of this project. */
export function run(args: readonly string[]) {
  return completionsCommand(args, {
    root,
    say: (text) => console.log(text),
    complain: (line) => console.error(line),
  });
}
