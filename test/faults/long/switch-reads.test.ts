import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fleetHosts } from '../../../lab/layout.mjs';
import { resetHosts } from '../../../lab/reset.mjs';
import { labUp } from '../../../lab/up.mjs';
import { folderForTest, labInventoryWith } from '../../deploy/lab-inventory.ts';
import { runPlaybook } from '../../deploy/playbook.ts';
import { expectConverged, watchWriters } from '../../deploy/switched-lab.ts';
import { clientAddresses, fleetOf, startLoad } from '../fleet-load.ts';
import { measured } from '../measured.ts';

// The larger lab, with rpc-4 as a replica of db-1: two gateways, three RPC servers that read the
// replica.

const addresses = { 'db-1': '172.30.77.11', 'rpc-4': '172.30.77.15' } as const;
type Server = keyof typeof addresses;
const names = fleetHosts.map(({ name }) => name);
let password: string;
let clients: Awaited<ReturnType<typeof clientAddresses>>;

const servedBy = (server: Server) => {
  const replica = server === 'db-1' ? 'rpc-4' : 'db-1';
  const changes = {
    'groups.rpc.rpc-4': undefined,
    'groups.database': { [server]: { address: addresses[server], region: 'lab-1' } },
    'groups.replica': { [replica]: { address: addresses[replica] } },
    'vars.replica': { password: `file:${password}` },
    'vars.gateway.drain_seconds': 3,
  };
  return labInventoryWith(changes, 'lab-fleet');
};

/** Waits until the gateways let all RPC servers serve. */
async function allServe(): Promise<void> {
  const serving = async () => (await fleetOf('172.30.77.21')).hosts.filter(({ serves }) => serves).length;
  await expect.poll(serving, { timeout: 120_000, interval: 1000 }).toBe(3);
}

beforeAll(async () => {
  password = join(await folderForTest(), 'password');
  await writeFile(password, 'read-by-the-replica\n', { mode: 0o600 });
  await labUp({ log: console.error, fleet: true });
  await resetHosts(names);
  expectConverged(await runPlaybook('deploy', '--inventory', await servedBy('db-1'), '--yes'));
  clients = await clientAddresses(50);
});
afterAll(async () => {
  await clients?.remove();
  // Other tests must not meet two database servers.
  await resetHosts(names);
});

describe('a switch of the Database+Sync server behind gateways', () => {
  test.for(['rpc-4', 'db-1'] as const)('to %s: reads go on', async (server, { task }) => {
    await allServe();
    const inventory = await servedBy(server);
    const end = watchWriters(Object.keys(addresses));
    const load = startLoad({ addresses: clients.addresses, rate: 50, webSockets: 10 });
    await sleep(5000);
    const run = await runPlaybook('switch', '--inventory', inventory, '--to', server, '--yes');
    await sleep(5000);
    const [seen, writers] = await Promise.all([load.end(), end()]);
    measured(
      task,
      `${seen.requests} requests, ${seen.failed.length} failed, ${seen.lower.length} heights go back; at least ${seen.fewest} of 3 serve; at most ${Math.max(...seen.reconnects)} reconnects of ${seen.reconnects.length} WebSockets; no synchronizer for ${writers.pause.toFixed(0)} s; at most ${writers.sync} synchronizer, ${writers.writes} server that accepts writes`,
    );
    expectConverged(run);
    expect(writers).toMatchObject({ sync: 1, writes: 1 });
    expect(seen.failed.slice(0, 20), JSON.stringify([...seen.out])).toEqual([]);
    expect(seen.lower).toEqual([]);
  });
});
