#!/usr/bin/env zx
// Renders every file of every host to DIR/HOST/FILENAME, offline.
const { typescript } = /** @type {{ typescript?: unknown }} */ (process.features);
if (!typescript) (await import('tsx/esm/api')).register();

const { renderCommand } = await import('../lib/cli/render.ts');
const { loadDeployment } = await import('../lib/node/inventory.ts');
const { renderFiles } = await import('../lib/node/render-files.ts');

const script = process.argv.findIndex((word) => word.endsWith('render.mjs'));
process.exitCode = await renderCommand(process.argv.slice(script + 1), {
  load: loadDeployment,
  render: renderFiles,
  embedded: 'lab',
  say: (line) => console.log(line),
  complain: (line) => console.error(line),
});
