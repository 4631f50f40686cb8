#!/usr/bin/env zx
// Writes a recorded run as one HTML page.
const { typescript } = /** @type {{ typescript?: unknown }} */ (process.features);
if (!typescript) (await import('tsx/esm/api')).register();

const { reportCommand } = await import('../lib/cli/report.ts');
const { recordFolder } = await import('../lib/cli/run-record.ts');

const script = process.argv.findIndex((word) => word.endsWith('report.mjs'));
process.exitCode = reportCommand(process.argv.slice(script + 1), {
  folder: recordFolder,
  say: (line) => console.log(line),
  complain: (line) => console.error(line),
});
