#!/usr/bin/env zx
// Deploys to bare hosts of the lab repeatedly: a race may show in one first deploy of many.
import { parseArgs } from 'node:util';
import { quietly } from '../../lab/docker.mjs';
import { hosts } from '../../lab/layout.mjs';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import { commandLine } from '../../lib/start/command-line.mjs';
import '../typescript.mjs';

const { runPlaybook } = await import('../deploy/playbook.ts');

const { values } = parseArgs({
  args: commandLine,
  options: { times: { type: 'string', default: '20' } },
});
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) throw new Error('--times must be a whole number from 1 on');

const log = (/** @type {string} */ line) => console.error(line);
await labUp({ log });
let good = 0;
for (let at = 1; at <= times; at += 1) {
  await resetHosts(
    hosts.map(({ name }) => name),
    { log },
  );
  // sshd answers before the boot has finished.
  for (const { container } of hosts)
    await quietly`docker exec ${container} systemctl is-system-running --wait`;
  const start = performance.now();
  const { exitCode, output } = await runPlaybook('deploy', '--inventory', 'lab');
  console.log(`deploy ${at}: exit code ${exitCode}, ${Math.round((performance.now() - start) / 1000)} s`);
  if (exitCode === 0) good += 1;
  else console.error(output);
}
console.log(`${good} of ${times} deploys from bare hosts ended with 0`);
process.exitCode = good === times ? 0 : 1;
