import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { recordFolder } from '../../node/project/project-folder.ts';
import { reportCommand } from './command.ts';

/** The command line of report, on the records of this project's runs. */
export function run(args: readonly string[]) {
  outliveOutput();
  return reportCommand(args, { folder: recordFolder, say: console.log, complain: console.error });
}
