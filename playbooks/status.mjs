#!/usr/bin/env zx
// Shows how every host is, once or again and again. It only looks.
const { typescript } = /** @type {{ typescript?: unknown }} */ (process.features);
if (!typescript) (await import('tsx/esm/api')).register();

const { statusCommand } = await import('../lib/cli/status.ts');
const { loadDeployment } = await import('../lib/node/inventory.ts');
const { watchedHost } = await import('../lib/node/status-host.ts');
const { fileURLToPath } = await import('node:url');

const script = process.argv.findIndex((word) => word.endsWith('status.mjs'));
process.exitCode = await statusCommand(process.argv.slice(script + 1), {
  load: loadDeployment,
  watch: (host, hosts, options) => watchedHost({ host, vars: host.vars, hosts }, options),
  embedded: 'lab',
  runs: fileURLToPath(new URL('../.runs', import.meta.url)),
  output: process.stdout,
  complain: (line) => console.error(line),
});
