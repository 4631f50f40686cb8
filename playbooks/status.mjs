#!/usr/bin/env zx
// Shows how every host is, once or again and again. It only looks.
import { argumentsOf } from '../lib/typescript.mjs';

const { endWithOutput, outliveOutput } = await import('../lib/cli/closed-pipe.ts');
const { recordFolder } = await import('../lib/cli/run-record.ts');
const { statusCommand } = await import('../lib/cli/status/command.ts');
const { loadDeployment } = await import('../lib/node/inventory.ts');
const { watchedHost } = await import('../lib/node/status/host.ts');

outliveOutput();
endWithOutput();
process.exitCode = await statusCommand(argumentsOf('status.mjs'), {
  load: loadDeployment,
  watch: (host, hosts, options) => watchedHost({ host, vars: host.vars, hosts }, options),
  embedded: 'lab',
  runs: recordFolder,
  output: process.stdout,
  complain: (line) => console.error(line),
});
