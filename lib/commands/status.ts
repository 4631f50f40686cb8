import { endWithOutput, outliveOutput } from '../cli/closed-pipe.ts';
import { recordFolder } from '../cli/run-record.ts';
import { statusCommand } from '../cli/status/command.ts';
import { loadDeployment } from '../node/inventory.ts';
import { watchedHost } from '../node/status/host.ts';

/** The command line of status, on this node's inventories. */
export function run(args: readonly string[]) {
  outliveOutput();
  endWithOutput();
  return statusCommand(args, {
    load: loadDeployment,
    watch: (host, hosts, options) => watchedHost({ host, vars: host.vars, hosts }, options),
    embedded: 'lab',
    runs: recordFolder,
    output: process.stdout,
    complain: (line) => console.error(line),
  });
}
