import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { openSession } from '../../engine/run/open-session.ts';
import { factsCommand } from './command.ts';

/** The command line of facts. */
export function run(args: readonly string[]) {
  outliveOutput();
  return factsCommand(args, { open: openSession, say: console.log, complain: console.error });
}
