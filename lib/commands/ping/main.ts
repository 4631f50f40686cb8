import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { openSession } from '../../engine/run/open-session.ts';
import { pingCommand } from './command.ts';

/** The command line of ping. */
export function run(args: readonly string[]) {
  outliveOutput();
  return pingCommand(args, { open: openSession, say: console.log, complain: console.error });
}
