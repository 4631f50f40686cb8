import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadDeployment } from '../inventory/inventory.ts';
import { accesses } from '../server/firewall.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { renderHost } from './render.ts';

process.env.REPLICA_PASSWORD = 'replica.Pw~5';
const changes: Changes = [
  [['groups', 'replica'], { 'replica-1': { address: '10.0.0.31', vars: { ports: { state_db: 5499 } } } }],
  [['groups', 'rpc', 'rpc-2', 'vars'], { replica: { use: 'none' } }],
  [['vars', 'replica'], { password: 'env:REPLICA_PASSWORD' }],
];

async function deployment(given: Changes) {
  const { hosts } = await loadDeployment(await labDeployment(given));
  const contextOf = (name: string) => {
    const host = hosts.find((each) => each.name === name);
    if (!host) throw new Error(`there is no ${name}`);
    return { host, vars: host.vars, hosts };
  };
  const textsOf = async (name: string) => {
    const { files } = await renderHost(contextOf(name));
    return Object.fromEntries(files.map((file) => [file.name, file.content.text]));
  };
  return { contextOf, textsOf };
}

test('a replica runs state-db as the database server does, and nothing else', async () => {
  const { contextOf, textsOf } = await deployment([
    ...changes,
    [['groups', 'replica', 'replica-1', 'vars'], undefined],
  ]);
  const [own, server] = await Promise.all([textsOf('replica-1'), textsOf('db-1')]);
  expect(Object.keys(own).sort()).toEqual(['docker-compose.yml', 'init_prover_db.sql']);
  const [{ services, ...rest }, of] = [own, server].map((texts) => parse(texts['docker-compose.yml'] ?? ''));
  expect(Object.keys(services)).toEqual(['state-db']);
  expect(rest).toEqual({ version: of.version, networks: of.networks });
  // With the same hash: it is not recreated when it becomes the database server.
  expect(services['state-db']).toEqual(of.services['state-db']);
  const rendered = await renderHost(contextOf('replica-1'));
  expect(rendered.ports.map(({ published }) => published)).toEqual(['5432']);
});

test('only an RPC server that reads a replica has its address, and a prover that does not write', async () => {
  const [{ textsOf }, before] = await Promise.all([deployment(changes), deployment([])]);
  const reader = await textsOf('rpc-1');
  expect(reader['node.config.toml']).toContain('Host = "10.0.0.31"\nPort = "5499"');
  const prover = JSON.parse(reader['prover.config.json'] ?? '');
  expect(prover).toMatchObject({
    dbReadOnly: true,
    databaseURL: expect.stringContaining('@10.0.0.31:5499/prover_db'),
  });
  for (const name of ['db-1', 'rpc-2']) expect(await textsOf(name)).toEqual(await before.textsOf(name));
  const { dbReadOnly: _, databaseURL: __, ...others } = prover;
  const { databaseURL: ___, ...former } = JSON.parse(
    (await before.textsOf('rpc-1'))['prover.config.json'] ?? '',
  );
  expect(others).toEqual(former);
});

test("the inventory's own dbReadOnly is not there twice", async () => {
  const own: Changes = [[['vars', 'prover_config'], { '+dbReadOnly': false }]];
  const onlyRpc2: Changes = [
    [['groups', 'rpc', 'rpc-1', 'vars'], { prover_config: { '+dbReadOnly': true } }],
  ];
  const { textsOf } = await deployment([...changes, ...own, ...onlyRpc2]);
  const text = (await textsOf('rpc-1'))['prover.config.json'] ?? '';
  expect(text.match(/dbReadOnly.*/g)).toEqual(['dbReadOnly": true']);
});

test('a replica is open to the RPC servers that read it, and the database server as before', async () => {
  const { contextOf } = await deployment(changes);
  const [replica] = await accesses(contextOf('replica-1'));
  expect(replica).toMatchObject({
    name: 'INTERNAL',
    ports: [{ published: '5499' }],
    sources: ['172.30.77.12'],
  });
  const [server] = await accesses(contextOf('db-1'));
  expect(server?.sources).toEqual(['172.30.77.12', '172.30.77.13', '10.0.0.31']);
});
