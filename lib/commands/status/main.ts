import { endWithOutput, outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { recordFolder } from '../../node/project/project-folder.ts';
import { watchedHost } from '../../node/status/host.ts';
import { statusCommand } from './command.ts';

/** The command line of status. */
export function run(args: readonly string[]) {
  outliveOutput();
  endWithOutput();
  return statusCommand(args, {
    watch: watchedHost,
    runs: recordFolder,
    output: process.stdout,
    complain: (line) => console.error(line),
  });
}
