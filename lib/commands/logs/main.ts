import { endWithOutput, outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { openSession } from '../../engine/run/open-session.ts';
import { logsCommand } from './command.ts';

/** The command line of logs. */
export function run(args: readonly string[]) {
  outliveOutput();
  endWithOutput();
  return logsCommand(args, { open: openSession, say: console.log, complain: console.error });
}
