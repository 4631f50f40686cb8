import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { openSession } from '../../engine/run/open-session.ts';
import { runCommand } from './command.ts';

/** The command line of run. */
export function run(args: readonly string[]) {
  outliveOutput();
  return runCommand(args, { open: openSession, say: console.log, complain: console.error });
}
