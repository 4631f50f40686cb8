#!/usr/bin/env zx
// Renders every file of every host, offline: to DIR/HOST/FILENAME, or compared with another generation or inventory.
import { argumentsOf } from '../lib/typescript.mjs';

const { outliveOutput } = await import('../lib/cli/closed-pipe.ts');
const { renderCommand } = await import('../lib/cli/render/command.ts');
const { paintFor } = await import('../lib/cli/colour.ts');
const { loadDeployment } = await import('../lib/node/inventory.ts');
const { filesOf, renderFiles } = await import('../lib/node/render-files.ts');
const { generations } = await import('../lib/node/generation.ts');

outliveOutput();
process.exitCode = await renderCommand(argumentsOf('render.mjs'), {
  load: loadDeployment,
  render: renderFiles,
  filesOf,
  generations: Object.keys(generations),
  embedded: 'lab',
  say: (line) => console.log(line),
  complain: (line) => console.error(line),
  paint: (color) => paintFor(process.stdout, color),
});
