import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { paintFor } from '../../engine/output/colour.ts';
import { loadDeployment } from '../../node/inventory/inventory.ts';
import { filesOf, renderFiles } from '../../node/render/render-files.ts';
import { generations } from '../../node/variables/generation.ts';
import { renderCommand } from './command.ts';

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
