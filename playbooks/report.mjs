#!/usr/bin/env zx
// Writes a recorded run as one HTML page.
import { argumentsOf } from '../lib/typescript.mjs';

const { outliveOutput } = await import('../lib/cli/closed-pipe.ts');
const { reportCommand } = await import('../lib/cli/report.ts');
const { recordFolder } = await import('../lib/cli/run-record.ts');

outliveOutput();
process.exitCode = reportCommand(argumentsOf('report.mjs'), {
  folder: recordFolder,
  say: (line) => console.log(line),
  complain: (line) => console.error(line),
});
