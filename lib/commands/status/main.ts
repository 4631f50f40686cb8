import { endWithOutput, outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { recordFolder } from '../../engine/report/run-record.ts';
import { loadDeployment } from '../../node/inventory/inventory.ts';
import { watchedHost } from '../../node/status/host.ts';
import { statusCommand } from './command.ts';

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
