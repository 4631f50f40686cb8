import { expect, test } from 'vitest';
import { describeProblem } from '../../engine/problem/problem.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { loadDeployment } from './inventory.ts';

test.each([
  ['l1_rpc_url', 'http://127.0.0.1:8545', '127.0.0.1'],
  ['l1_rpc_url', 'http://0x7f000001:8545', '127.0.0.1'],
  ['l1_rpc_url', 'http://[::1]:8545', '::1'],
  ['l1_rpc_url', 'http://[::ffff:127.0.0.1]:8545', '127.0.0.1'],
  ['l1_rpc_url', 'http://localhost:8545', 'localhost'],
  ['trusted_sequencer_url', 'http://LocalHost.:8123', 'localhost'],
])('an address that is the container itself is a warning, once: %s %s', async (key, url, host) => {
  const { warnings = [] } = await loadDeployment(await labDeployment([[['vars', 'network', key], url]]));
  expect(warnings.map(describeProblem)).toEqual([
    expect.stringMatching(
      `lab\\.yaml:\\d+:\\d+: network\\.${key} is at ${host}, which is the container itself where the node asks it\\n  name the address at which the containers of this server reach the other server$`,
    ),
  ]);
});

test.each([
  [['network', 'trusted_sequencer_url'], 'http://172.30.77.12:8123', 'rpc-1'],
  [['network', 'trusted_sequencer_url'], 'http://172.30.77.13:8123/', 'rpc-2'],
  [['network', 'l1_rpc_url'], 'http://172.30.77.12:8123', 'rpc-1'],
])('a server of the deployment itself is no source of it: %j %s', async (path, url, name) => {
  await expect(loadDeployment(await labDeployment([[['vars', ...path], url]]))).rejects.toThrow(
    `where ${name} of this deployment serves: the node follows another`,
  );
});

test('another program on a server of the deployment may be layer 1', async () => {
  const { hosts } = await loadDeployment(
    await labDeployment([[['vars', 'network', 'l1_rpc_url'], 'http://172.30.77.12:8545']]),
  );
  expect(hosts).toHaveLength(3);
});
