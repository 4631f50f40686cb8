import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { validateCommand } from './command.ts';

/** The command line of validate. */
export function run(args: readonly string[]) {
  outliveOutput();
  return validateCommand(args, { say: console.log, complain: console.error });
}
