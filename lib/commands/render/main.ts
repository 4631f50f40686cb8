import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { paintFor } from '../../engine/output/colour.ts';
import { renderCommand } from './command.ts';

/** The command line of render. */
export function run(args: readonly string[]) {
  outliveOutput();
  return renderCommand(args, {
    say: (line) => console.log(line),
    complain: (line) => console.error(line),
    paint: (color) => paintFor(process.stdout, color),
  });
}
