import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { openSession } from '../../engine/run/open-session.ts';
import { historyCommand } from './command.ts';

/** The command line of history. */
export function run(args: readonly string[]) {
  outliveOutput();
  return historyCommand(args, { open: openSession, say: console.log, complain: console.error });
}
