import { expect } from 'vitest';
import { runPlaybook } from './playbook.ts';

/** Installs Docker on a bare host of the lab, where its data is at first. */
export async function dockerByRoles(host: string): Promise<void> {
  const roles = ['--role', 'client-tools', '--role', 'docker'];
  const { exitCode, output } = await runPlaybook('deploy', '-i', 'lab', '-l', host, ...roles);
  expect(exitCode, output).toBe(0);
}
