import { outliveOutput } from '../cli/closed-pipe.ts';
import { reportCommand } from '../cli/report.ts';
import { recordFolder } from '../cli/run-record.ts';

/** The command line of report, on the records of this project's runs. */
export function run(args: readonly string[]) {
  outliveOutput();
  return reportCommand(args, {
    folder: recordFolder,
    say: (line) => console.log(line),
    complain: (line) => console.error(line),
  });
}
