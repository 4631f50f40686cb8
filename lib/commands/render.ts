import { outliveOutput } from '../cli/closed-pipe.ts';
import { paintFor } from '../cli/colour.ts';
import { renderCommand } from '../cli/render/command.ts';
import { generations } from '../node/generation.ts';
import { loadDeployment } from '../node/inventory.ts';
import { filesOf, renderFiles } from '../node/render-files.ts';

/** The command line of render, on this node's inventories and templates. */
export function run(args: readonly string[]) {
  outliveOutput();
  return renderCommand(args, {
    load: loadDeployment,
    render: renderFiles,
    filesOf,
    generations: Object.keys(generations),
    embedded: 'lab',
    say: (line) => console.log(line),
    complain: (line) => console.error(line),
    paint: (color) => paintFor(process.stdout, color),
  });
}
