import { expect } from 'vitest';
import { labUp } from '../../lab/up.mjs';
import { containersOf, labHosts, onHost } from './lab-host.ts';
import { runPlaybook } from './playbook.ts';

/**
 * Brings the lab up, and deploys to it unless each host has its containers: the file of tests
 * before has left them.
 */
export async function deployedLab(): Promise<void> {
  await labUp({ log: console.error });
  const isDeployed = await Promise.all(
    labHosts.map(async (host) => {
      const names = await onHost(host, `docker ps --format '{{.Names}}' 2>/dev/null || :`);
      return names.split('\n').sort().join() === [...containersOf[host]].sort().join();
    }),
  );
  if (!isDeployed.includes(false)) return;
  const { exitCode, output } = await runPlaybook('deploy', '--inventory', 'lab');
  expect(exitCode, output).toBe(0);
}
