import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ended, runPlaybook } from '../deploy/playbook.ts';
import type { LightHost } from './light-host.ts';

/**
 * The result of the real deploy on a light host in check mode, which reports beforehand what
 * prevents a deployment.
 */
export async function checkDeployment({ address, hostKey, clientKey }: LightHost): Promise<Ended> {
  const directory = mkdtempSync(join(tmpdir(), 'light-deploy-'));
  const inventory = join(directory, 'light.yaml');
  writeFileSync(join(directory, 'password'), 'distinctly-light', { mode: 0o600 });
  writeFileSync(inventory, inventoryOf({ address, host_key: hostKey, identity_file: clientKey }));
  try {
    return await runPlaybook(
      'deploy',
      '--inventory',
      inventory,
      '--check',
      '--limit',
      'rpc-1',
      '--role',
      'preflight',
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Nothing outside answers: the expected cause has to be among the findings. */
function inventoryOf(rpc: Readonly<Record<'address' | 'host_key' | 'identity_file', string>>): string {
  // Without a listener.
  const nowhere = `http://${rpc.address}:9`;
  const credentials = (store: string) => ({
    user: `${store}_user`,
    database: `${store}_db`,
    password: 'file:password',
  });
  const archive = (store: string) => ({ url: `${nowhere}/${store}.sql.tar.gz`, sha256: 'a'.repeat(64) });
  return JSON.stringify({
    ssh: { user: 'root' },
    groups: { database: { 'db-1': { address: '192.0.2.1', region: 'lab-1' } }, rpc: { 'rpc-1': rpc } },
    vars: {
      network: {
        kind: 'test',
        region: 'lab-1',
        chain_id: 55555,
        trusted_sequencer_url: nowhere,
        l1_rpc_url: nowhere,
        genesis: { url: `${nowhere}/genesis.json`, sha256: 'a'.repeat(64) },
      },
      images: { node: 'node', prover: 'prover', database: 'postgres:15' },
      credentials: { state: credentials('state'), pool: credentials('pool'), prover: credentials('prover') },
      snapshot: {
        state: archive('state'),
        prover: archive('prover'),
        date: '2026-01-01',
        restore_with: 'source',
        source: { repository: `${nowhere}/node.git` },
      },
      disk_alert: { webhook: nowhere },
      hardware: 'advisory',
    },
  });
}
