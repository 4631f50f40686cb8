import { expect, test } from 'vitest';
import { drift, ok } from '../resource/resource.ts';
import { portVerdict, publishedPorts } from './published-ports.ts';
import type { Variables } from './variables.ts';

const ports: Variables['ports'] = {
  state_db: 5432,
  pool_db: 5433,
  prover_hash_db: 50061,
  prover_executor: 50071,
  sync_metrics: 9091,
  rpc_http: 8123,
  rpc_websocket: 8133,
  rpc_metrics: 9092,
};
const numbers = (group: string) =>
  publishedPorts({ groups: [group], vars: { ports } as Variables }).map(({ port }) => port);

test('each kind of server publishes its part of the mapping table', () => {
  expect(numbers('database').toSorted()).toEqual([50061, 50071, 5432, 5433, 9091]);
  expect(numbers('rpc').toSorted()).toEqual([50061, 50071, 5433, 8123, 8133, 9092]);
});

const wanted = { port: 5432, container: 'state-db' };
const nginx = 'LISTEN 0 511 0.0.0.0:5432 0.0.0.0:* users:(("nginx",pid=813,fd=6),("nginx",pid=812,fd=6))\n';
const proxy = 'LISTEN 0 4096 *:5432 *:* users:(("docker-proxy",pid=99,fd=4))\n';

test('a port is free, or our own container has it', () => {
  expect(portVerdict('', [], wanted)).toEqual(ok);
  expect(portVerdict(proxy, ['state-db'], wanted)).toEqual(ok);
  // Without the userland proxy nothing is seen to listen.
  expect(portVerdict('', ['state-db'], wanted)).toEqual(ok);
});

test('whoever else has it is named', () => {
  expect(portVerdict(nginx, [], wanted)).toEqual(
    drift('port 5432 is held by nginx (process 813) and nginx (process 812)'),
  );
  expect(portVerdict(proxy, ['old-db'], wanted)).toEqual(drift('port 5432 is held by the container old-db'));
  expect(portVerdict('', ['old-db'], wanted)).toEqual(drift('port 5432 is held by the container old-db'));
  expect(portVerdict('0: 00000000:1538 00000000:0000 0A', [], wanted)).toEqual(
    drift('port 5432 is held by a process that cannot be told'),
  );
});
