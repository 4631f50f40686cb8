import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { terminal } from '../../engine/output/terminal.ts';
import { initCommand } from './command.ts';

/** The command line of init. */
export function run(args: readonly string[]) {
  outliveOutput();
  return initCommand(args, { ask: terminal()?.shown, say: console.log, complain: console.error });
}
