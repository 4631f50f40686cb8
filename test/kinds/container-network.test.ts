import { beforeAll, beforeEach, expect, test } from 'vitest';
import { write } from '../../lib/engine/host/step.ts';
import { describeUnmet, ok, type Resource } from '../../lib/engine/resource/resource.ts';
import { applyDrift, makeSteps, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { acceptsConnections } from '../../lib/node/databases/databases.ts';
import { networksAreApart } from '../../lib/node/preflight/docker-networks.ts';
import { containersReach } from '../../lib/node/preflight/from-containers.ts';
import { component } from '../../lib/node/render/component.ts';
import { renderHost } from '../../lib/node/render/render.ts';
import { networksHaveTheirSubnets } from '../../lib/node/server/container-network.ts';
import type { Changes } from '../../lib/node/testing/lab-deployment.ts';
import { contextOf } from '../../lib/node/testing/role-context.ts';
import { converge } from './converge.ts';
import { dockerHost, postgresImage } from './docker-host.ts';

// A real Docker engine: what containers of an RPC server resolve and reach, and the network that
// they are in.

let host: TestHost;
let address: string;

beforeAll(async () => {
  const scratch = await dockerHost();
  ({ host, address } = scratch);
  return scratch.remove;
});

beforeEach(async () => {
  await host.run`docker rm --force $(docker ps --all --quiet) 2>/dev/null; docker network prune --force; rm -rf /opt/rpc-node /data/pool-db`;
});

const database = (name: string): Changes[number] => [['groups', 'database', 'db-1', 'address'], name];
const onRpc = (...changes: Changes) => contextOf({ group: 'rpc', changes });
const reach = async (...changes: Changes) => containersReach(await onRpc(...changes));
const apart = async (...changes: Changes) => networksAreApart(await onRpc(...changes));
const unmet = async (resource: Resource) => describeUnmet(resource, await resource.check(host));

test('the lab can be reached, and a state database that is not there yet is no fault', async () => {
  const before = await host.$`docker volume ls --quiet; docker ps --all --quiet`;
  expect(await (await reach()).check(host)).toEqual(ok);
  expect((await host.$`docker volume ls --quiet; docker ps --all --quiet`).text()).toBe(before.text());
});

test('a name that only /etc/hosts of the host has is refused', async () => {
  await host.run`grep -q state-db.internal /etc/hosts || echo ${`${address} state-db.internal`} >> /etc/hosts`;
  expect(await unmet(await reach(database('state-db.internal')))).toBe(
    `state-db.internal (the state database on db-1) resolves on the host, by /etc/hosts, and not in containers
give the address in the inventory, or the name to the DNS server of the host`,
  );
  expect(await unmet(await reach(database('nowhere.invalid')))).toBe(
    `nowhere.invalid (the state database on db-1) resolves neither on the host nor in containers
check the name in the inventory, and the DNS server of the host`,
  );
});

test('what the host reaches and its containers do not is refused', async () => {
  await host.run`iptables -I DOCKER-USER -p tcp --dport 8546 -j REJECT --reject-with tcp-reset`;
  try {
    expect(await unmet(await reach())).toMatch(
      /^172\.30\.77\.10:8546 \(layer 1\) can be reached from the host, and not from containers: Connection refused\nlet packets/,
    );
  } finally {
    await host.run`iptables -D DOCKER-USER -p tcp --dport 8546 -j REJECT --reject-with tcp-reset`;
  }
});

test("a state database logs in containers with the inventory's users", async () => {
  await host.run`docker run --detach --name there --publish 5432:5432 --env POSTGRES_USER=state_user --env POSTGRES_DB=state_db \
    --env POSTGRES_PASSWORD=state.Pw~1 ${postgresImage}`;
  const sql = (text: string) => host.$`docker exec there psql -h 127.0.0.1 -U state_user state_db -c ${text}`;
  await expect.poll(async () => (await sql('select 1')).ok, { timeout: 60_000 }).toBe(true);
  const there = await reach(database(address));
  expect(await unmet(there)).toMatch(
    `${address}:5432 (the state database on db-1) refuses prover_user from containers: password authentication failed`,
  );
  await sql("create user prover_user password 'prover.Pw~3'");
  await sql('create database prover_db');
  expect(await there.check(host)).toEqual(ok);
});

test('a network that has an address of the deployment is refused, and with a subnet of the inventory it is made again', async () => {
  const own = database('10.213.7.9');
  const subnet: Changes[number] = [['vars', 'container_subnet'], '10.214.7.0/24'];
  const start = async (...changes: Changes) => {
    const context = await onRpc(...changes);
    await host.run`mkdir -p /opt/rpc-node`;
    for (const { path, content, mode } of (await renderHost(context)).files) {
      await makeSteps(host, write(path, content.text, { mode }));
    }
    await applyDrift(host, (await component(context, 'pool-db')).service);
    // While it is initialized, it stops only after two minutes.
    await applyDrift(host, acceptsConnections('pool-db'));
    return context;
  };
  // Such as Docker might choose.
  await start([['vars', 'container_subnet'], '10.213.0.0/16']);
  expect(await unmet(await apart(own))).toBe(
    `10.213.7.9, the address of db-1, lies in network rpc-node of Docker (10.213.0.0/16), and containers look for it in that network alone
give the containers a network that nothing else uses: container_subnet in the inventory (docs/network.md, "Networks of containers")`,
  );
  expect(await (await apart(own, subnet)).check(host)).toEqual(ok);

  const [network] = await networksHaveTheirSubnets(await onRpc(own, subnet));
  if (!network) throw new Error('the Compose file has a network');
  expect(await converge(host, network)).toEqual([
    { what: 'subnet', was: '10.213.0.0/16', wanted: '10.214.7.0/24' },
    { what: 'pool-db', was: 'in the former network', wanted: 'made again' },
  ]);
  await start(own, subnet);
  expect(await network.check(host)).toEqual(ok);
  expect(
    (await host.$`docker network inspect --format ${'{{json .IPAM.Config}}'} rpc-node`).text(),
  ).toContain('10.214.7.0/24');
  expect(await (await apart(own, subnet)).check(host)).toEqual(ok);

  // Somebody else's.
  await host.run`docker network create --subnet 10.213.7.0/24 app_default`;
  expect(await unmet(await apart(own, subnet))).toMatch(
    /^10\.213\.7\.9, the address of db-1, lies in network app_default of Docker \(10\.213\.7\.0\/24\), .*\nremove that network/,
  );
  await host.run`docker run --detach --name guest --network rpc-node --entrypoint sleep ${postgresImage} infinity`;
  const [other] = await networksHaveTheirSubnets(await onRpc(own));
  expect(await unmet(other as Resource)).toBe(
    `network rpc-node has to be made again for container_subnet, and other containers are in it: guest
take them out of it, and put them back after the deploy: docker network disconnect --force rpc-node guest`,
  );
});
