import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { availableKeys } from '../../engine/command-line/unlock.ts';
import { terminal } from '../../engine/output/terminal.ts';
import { secretsCommand } from './command.ts';
import { editPrivately } from './editor.ts';

/** The command line of secrets. */
export function run(args: readonly string[]) {
  outliveOutput();
  return secretsCommand(args, {
    keys: availableKeys(undefined),
    terminal: terminal(),
    edit: editPrivately,
    say: (line) => console.log(line),
    complain: (line) => console.error(line),
  });
}
