import { expect, test } from 'vitest';
import { ok, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost, stoppedUnit } from '../../engine/resource/testing/fake-host.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf, refusal } from '../testing/role-context.ts';
import { networksHaveTheirSubnets } from './container-network.ts';

const subnet: Changes = [[['vars', 'container_subnet'], '10.213.7.0/24']];
const running = { unit: async () => ({ ...stoppedUnit, active: 'active' }) };

/** Docker 20.10, of which the parts that matter. */
const inspection = (of: string, Labels: object = {}) =>
  JSON.stringify([
    {
      Name: 'rpc-node',
      Driver: 'bridge',
      IPAM: { Driver: 'default', Options: null, Config: [{ Subnet: of }] },
      Labels,
    },
  ]);

const labelled = (of: string) => inspection(of, { 'rpc-playbooks.subnet': of });

function hostWith(network: string, containers = '') {
  return fakeHost(
    [
      [/^docker network inspect/, network],
      [/^docker ps/, containers],
    ],
    running,
  );
}

async function resource(changes: Changes = []) {
  const [first] = await networksHaveTheirSubnets(await contextOf({ changes }));
  if (!first) throw new Error('the Compose file has a network');
  return first;
}

test.each<[string, Changes, string]>([
  ['that Docker chose', [], inspection('172.18.0.0/16')],
  ['of the inventory', subnet, labelled('10.213.7.0/24')],
])('a network with the subnet %s stays', async (_, changes, network) => {
  expect(await (await resource(changes)).check(hostWith(network, 'state-db\n'))).toEqual(ok);
});

test('Compose makes a network that is not there', async () => {
  expect(await (await resource(subnet)).check(fakeHost([], running))).toEqual(ok);
  expect(await (await resource(subnet)).check(fakeHost([]))).toEqual(unknownUntil('docker is running'));
});

test('for another subnet all containers are removed with the network, those of databases last', async () => {
  const verdict = await (await resource(subnet)).check(
    hostWith(inspection('172.18.0.0/16'), 'sync\nstate-db\nprover\n'),
  );
  expect(verdict).toMatchObject({
    is: 'drift',
    differences: [
      { what: 'subnet', was: '172.18.0.0/16', wanted: '10.213.7.0/24' },
      { what: 'prover', was: 'in the former network', wanted: 'made again' },
      { what: 'state-db', wanted: 'made again' },
      { what: 'sync', wanted: 'made again' },
    ],
    change: [
      { command: expect.stringMatching(/stop .*prover'? '?sync'? && docker rm '?prover'? '?sync/) },
      { command: expect.stringMatching(/stop .*state-db'? && docker rm '?state-db/) },
      { command: expect.stringMatching(/^docker network rm '?rpc-node/) },
    ],
  });
});

test('without the variable again, Docker chooses again', async () => {
  const verdict = await (await resource()).check(hostWith(labelled('10.213.7.0/24')));
  expect(verdict).toMatchObject({
    differences: [{ what: 'subnet', was: '10.213.7.0/24', wanted: "Docker's choice" }],
    change: [{ command: expect.stringMatching(/^docker network rm/) }],
  });
});

test("a network with somebody else's container is not removed", async () => {
  const host = hostWith(inspection('172.18.0.0/16'), 'grafana\nsync\n');
  expect(await refusal([await resource(subnet)], 'network rpc-node has its subnet', host)).toEqual([
    'network rpc-node has to be made again for container_subnet, and other containers are in it: grafana',
    'take them out of it, and put them back after the deploy: docker network disconnect --force rpc-node grafana',
  ]);
});
