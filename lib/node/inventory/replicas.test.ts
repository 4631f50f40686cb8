import { expect, test } from 'vitest';
import { Problems } from '../../engine/problem/problem.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { readersOf, stateHost } from '../variables/hosts.ts';
import { loadDeployment } from './inventory.ts';

process.env.REPLICA_PASSWORD = 'replica.Pw~5';

/** Replicas by their settings, and the lab's RPC servers with three more. */
const replicas = (...settings: readonly Record<string, unknown>[]): Changes => [
  ...settings.map(
    (more, at) => [['groups', 'replica', `replica-${at + 1}`], { address: `10.0.0.${at}`, ...more }] as const,
  ),
  ...[3, 4, 5].map((at) => [['groups', 'rpc', `rpc-${at}`], { address: `10.0.1.${at}` }] as const),
  [['vars', 'replica'], { password: 'env:REPLICA_PASSWORD' }],
  [['vars', 'state_db', 'max_connections'], 2000],
];
const uses = (host: string, use: unknown) => [['groups', 'rpc', host, 'vars'], { replica: { use } }] as const;

/** `message (hint)` of each problem; each has a place. */
async function problemsOf(changes: Changes): Promise<string[]> {
  const loading = loadDeployment(await labDeployment(changes));
  const error: unknown = await loading.then(
    () => new Problems([]),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Problems)) throw error;
  return error.problems.map(({ message, where, hint }) => {
    expect([where?.line, where?.column]).toEqual([expect.any(Number), expect.any(Number)]);
    return hint === undefined ? message : `${message} (${hint})`;
  });
}

async function readers(changes: Changes) {
  const { hosts } = await loadDeployment(await labDeployment(changes));
  const rpc = hosts.filter(({ groups }) => groups.includes('rpc'));
  const found = hosts.filter(({ groups }) => groups.includes('replica'));
  const names = found.map((host) => [host.name, readersOf(hosts, host).map(({ name }) => name)]);
  return { ...Object.fromEntries(names), of: rpc.map((host) => stateHost(hosts, host).name) };
}

test('RPC servers are spread evenly, in the order of the inventory', async () => {
  expect(await readers(replicas({}, {}))).toEqual({
    'replica-1': ['rpc-1', 'rpc-3', 'rpc-5'],
    'replica-2': ['rpc-2', 'rpc-4'],
    of: ['replica-1', 'replica-2', 'replica-1', 'replica-2', 'replica-1'],
  });
});

test('an RPC server names its replica, or none, and the others level that out', async () => {
  const changes = [
    ...replicas({}, {}),
    uses('rpc-1', 'none'),
    uses('rpc-4', 'replica-1'),
    uses('rpc-5', 'replica-1'),
  ];
  expect(await readers(changes)).toMatchObject({
    'replica-1': ['rpc-4', 'rpc-5'],
    'replica-2': ['rpc-2', 'rpc-3'],
    of: ['db-1', 'replica-2', 'replica-2', 'replica-1', 'replica-1'],
  });
});

test('without a replica all read the database server, and a replica without RPC servers is fine', async () => {
  expect(await readers([])).toEqual({ of: ['db-1', 'db-1'] });
  const named = ['rpc-1', 'rpc-2', 'rpc-3', 'rpc-4', 'rpc-5'].map((host) => uses(host, 'replica-1'));
  expect(await readers([...replicas({}, {}), ...named])).toMatchObject({ 'replica-2': [] });
});

test('connections count for the server that a host uses', async () => {
  const most = (host: string, max_connections: number): Changes => [
    [['groups', host === 'db-1' ? 'database' : 'replica', host, 'vars'], { state_db: { max_connections } }],
  ];
  // One prover and one synchronizer on the database server, whatever the number of RPC servers.
  expect(await problemsOf([...replicas({}, {}), ...most('db-1', 261)])).toEqual([]);
  expect(await problemsOf([...replicas({}, {}), ...most('db-1', 260)])).toEqual([
    expect.stringMatching(
      /^state_db.max_connections is 260, but its hosts together may open 260: 1 prover x 60/,
    ),
  ]);
  expect(await problemsOf([...replicas({}, {}), ...most('db-1', 300), ...most('replica-1', 780)])).toEqual([
    expect.stringMatching(
      /^state_db.max_connections is 780, but its hosts together may open 780: 3 provers x 60/,
    ),
  ]);
  const unused = [
    ...replicas({}, {}),
    ...['rpc-1', 'rpc-2', 'rpc-3', 'rpc-4', 'rpc-5'].map((each) => uses(each, 'replica-2')),
  ];
  expect(await problemsOf([...unused, ...most('db-1', 300), ...most('replica-1', 300)])).toEqual([]);
});

test.each<[string, Changes, string[]]>([
  [
    'no password',
    [...replicas({}), [['vars', 'replica'], undefined]],
    [
      'replica.password is missing, and the inventory has a host in group replica (name where it is, such as secret:replica_password; it belongs to that role alone)',
    ],
  ],
  [
    'the database server',
    [...replicas(), [['groups', 'replica', 'db-1'], null]],
    [
      'db-1 is in group replica and in database (a replica takes load off the other servers: give it one of its own)',
    ],
  ],
  [
    'a host that is no replica',
    [...replicas({}), uses('rpc-2', 'rpc-1')],
    ['replica.use of rpc-2 is rpc-1, which is not in group replica (name one of none, replica-1)'],
  ],
  [
    'an assignment of the database server',
    [...replicas({}), [['groups', 'database', 'db-1', 'vars'], { replica: { use: 'replica-1' } }]],
    ['replica.use of db-1 has no use: only an RPC server reads a replica'],
  ],
  [
    'a replica with fewer connections than the server',
    replicas({ vars: { state_db: { max_connections: 1999 } } }),
    [
      'state_db.max_connections of replica-1 is 1999, and db-1 has 2000 (a replica needs at least as much, or does not start)',
    ],
  ],
  [
    'too many replicas',
    replicas({}, {}, {}, {}, {}, {}, {}, {}),
    [expect.stringMatching(/^group replica has 8 hosts \(.*\): there may be 7 at most \(PostgreSQL sends/)],
  ],
  [
    'a prover that does not write on the database server',
    [...replicas({}), [['groups', 'database', 'db-1', 'vars'], { prover_config: { '+dbReadOnly': true } }]],
    ['prover_config.+dbReadOnly of db-1: the synchronizer ends with a prover that does not write'],
  ],
  [
    'a prover that writes to a replica',
    [...replicas({}), [['groups', 'rpc', 'rpc-1', 'vars'], { prover_config: { '+dbReadOnly': false } }]],
    ['prover_config.+dbReadOnly of rpc-1 is false, and it reads a replica'],
  ],
])('%s is refused, with its place', async (_, changes, expected) => {
  expect(await problemsOf(changes)).toEqual(expected);
});

test('a replica has settings of state_db of its own', async () => {
  const settings = { state_db: { max_connections: 3000, shared_buffers: '64MB' }, ports: { state_db: 5499 } };
  expect(await problemsOf(replicas({ vars: settings }))).toEqual([]);
});
