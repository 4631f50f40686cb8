import { dirname } from 'node:path';
import toml from '@iarna/toml';
import { expect, test } from 'vitest';
import { Scalar } from 'yaml';
import { describeProblem, type Problem, Problems } from '../../../engine/problem/problem.ts';
import { parsers } from '../../../engine/template/format.ts';
import { isSection, type Section } from '../../../engine/template/outline.ts';
import { loadDeployment } from '../../inventory/inventory.ts';
import { type Changes, labDeployment } from '../../testing/lab-deployment.ts';
import { generations } from '../../variables/generation.ts';
import { renderHost } from '../render.ts';
import { templateOf } from '../templates.ts';
import { type OverrideName, overridable } from './overrides.ts';

async function rendered(changes: Changes, host = 'rpc-1') {
  const { hosts } = await loadDeployment(await labDeployment(changes));
  const found = hosts.find(({ name }) => name === host);
  if (!found) throw new Error(host);
  const result = await renderHost({ host: found, vars: found.vars, hosts });
  const text = (name: string) => result.files.find((file) => file.name === name)?.content.text ?? '';
  return { ...result, text, node: () => toml.parse(text('node.config.toml')) };
}

async function complaint(name: OverrideName, value: unknown, more: Changes = []): Promise<string> {
  const file = await labDeployment([[['vars', name], value], ...more]);
  return loadDeployment(file).then(
    () => 'accepted',
    (error: Problems | Problem) =>
      (error instanceof Problems ? error.problems : [error])
        .map(describeProblem)
        .join('\n')
        .replaceAll(`${dirname(file)}/`, ''),
  );
}

const files = [
  ['node_config', 'node.config.toml'],
  ['prover_config', 'prover.config.json'],
] as const;

test.each(
  files.flatMap(([name, file]) =>
    (Object.keys(generations) as (keyof typeof generations)[]).map(
      (generation) => [name, generation, file] as const,
    ),
  ),
)('every value of %s, %s generation, is found', (name, generation, file) => {
  const { text, source } = templateOf(generation, file);
  const plain = text.replaceAll(/\{\{[^{}]*\}\}/g, '1');
  const paths = (tree: unknown, above: readonly string[] = []): string[] =>
    typeof tree !== 'object' || tree === null || Array.isArray(tree)
      ? [above.join('.')]
      : Object.entries(tree).flatMap(([key, value]) => paths(value, [...above, key]));
  const parsed = paths(parsers[source.format](plain));
  expect(parsed.length).toBeGreaterThan(30);
  const found = ({ keys }: Section, above: readonly string[] = []): string[] =>
    [...keys].flatMap(([key, entry]) =>
      isSection(entry) ? found(entry, [...above, key]) : [[...above, key].join('.')],
    );
  expect(found(overridable(generation, name)).sort()).toEqual(parsed.sort());
});

test('overrides reach the files of their hosts, and those of one host have priority over those of all', async () => {
  const changes: Changes = [
    [
      ['vars', 'node_config'],
      { Log: { Level: 'debug' }, RPC: { ReadTimeout: '1m30s', '+EnableHttpLog': true } },
    ],
    [['vars', 'prover_config'], { dbMTCacheSize: 2048, '+dbMetrics': true }],
    [
      ['groups', 'rpc', 'rpc-1', 'vars'],
      { node_config: { RPC: { ReadTimeout: '5s' }, '+Extra': { Key: [1, 2] } } },
    ],
  ];
  const [rpc, db] = [await rendered(changes), await rendered(changes, 'db-1')];
  expect(rpc.node()).toMatchObject({
    Log: { Level: 'debug' },
    RPC: { ReadTimeout: '5s', EnableHttpLog: true, WriteTimeout: '360s' },
    Extra: { Key: [1, 2] },
  });
  expect(db.node()).toMatchObject({ RPC: { ReadTimeout: '1m30s', EnableHttpLog: true } });
  expect(db.node()).not.toHaveProperty('Extra');
  for (const { text } of [rpc, db])
    expect(JSON.parse(text('prover.config.json'))).toMatchObject({ dbMTCacheSize: 2048, dbMetrics: true });
  // Comments of the template stay.
  expect(rpc.text('node.config.toml')).toContain('Level = "debug"\n');
  expect(rpc.text('node.config.toml')).toContain('# Counts by X-Forwarded-For');
});

test('an overridden port is used by Compose, by the node and by the roles that wait for it', async () => {
  const changes: Changes = [
    [['vars', 'node_config'], { RPC: { Port: 9000, WebSockets: { Port: 9001 } }, Metrics: { Port: 9002 } }],
    [['vars', 'prover_config'], { hashDBServerPort: 9003, executorServerPort: 9004 }],
  ];
  const rpc = await rendered(changes);
  const db = await rendered(changes, 'db-1');
  for (const port of ['8123:9000', '8133:9001', '9092:9002', '50061:9003', '50071:9004'])
    expect(rpc.text('docker-compose.yml')).toContain(`- "${port}"`);
  expect(db.text('docker-compose.yml')).toContain('- "9091:9002"');
  expect(rpc.node()).toMatchObject({ MTClient: { URI: 'prover:9003' }, Executor: { URI: 'prover:9004' } });
  expect(rpc.listens).toEqual({ prover: [9003, 9004], 'json-rpc': [9000], sync: [9002] });
});

test.each<[string, OverrideName, unknown]>([
  ['keys of the prover that differ in case', 'prover_config', { '+new': 1, '+New': 2 }],
  ['the longest duration', 'node_config', { RPC: { ReadTimeout: '2562047h47m16.854775807s' } }],
  ['both letters for micro', 'node_config', { RPC: { ReadTimeout: '5\u00b5s5\u03bcs' } }],
  [
    'a port of a part that is off',
    'node_config',
    { RPC: { Port: 8133, WebSockets: { Enabled: false } }, Metrics: { Port: 6060, ProfilingEnabled: false } },
  ],
  ['each way to follow layer 1', 'node_config', { Synchronizer: { L1SynchronizationMode: 'sequential' } }],
  ['a port of a server of the prover that does not run', 'prover_config', { hashDBServerPort: 50081 }],
])('%s is accepted', async (_, name, value) => {
  expect(await complaint(name, value)).toBe('accepted');
});

test('-0 becomes 0 in every file', async () => {
  const changes: Changes = [
    [['vars', 'node_config'], { Pool: { AccountQueue: -0 }, '+A': [-0, 1] }],
    [['vars', 'prover_config'], { dbMTCacheSize: -0 }],
  ];
  const { text } = await rendered(changes);
  expect(text('node.config.toml')).toMatch(
    /\nAccountQueue = 0\n[\s\S]*\nA = \[0, 1\]\n|\nA = \[0, 1\]\n[\s\S]*\nAccountQueue = 0\n/,
  );
  expect(text('prover.config.json')).toContain('"dbMTCacheSize": 0,');
});

const seldom: Changes = [[['vars', 'generation'], 'older']];

const timestamp = new Scalar('2024-01-01');
timestamp.tag = 'tag:yaml.org,2002:timestamp';

test.each<[string, OverrideName, unknown, string | RegExp, Changes?]>([
  [
    'a misspelt key',
    'node_config',
    { RPC: { ReadTimeOut2: '5s' } },
    'node_config.RPC.ReadTimeOut2 is not a key of the template\n  did you mean ReadTimeout? (a key that the template does not have is written +ReadTimeOut2)',
  ],
  [
    'a misspelt section',
    'node_config',
    { Synchroniser: { SyncChunkSize: 5 } },
    'node_config.Synchroniser is not a key of the template\n  did you mean Synchronizer? (a key that the template does not have is written +Synchroniser)',
  ],
  [
    'a key of another generation',
    'node_config',
    { StateDB: { MaxConns: 5 } },
    'node_config.StateDB is not a key of the template\n  it is a section of the older generation, which the node of this one ignores',
  ],
  [
    'a section of another generation that is marked as new',
    'node_config',
    { '+StateDB': { MaxConns: 5 } },
    'node_config.+StateDB is a section of the older generation, which the node of this one ignores',
  ],
  [
    'a section of a later generation that is marked as new',
    'node_config',
    { '+State': { DB: { MaxConns: 5 } } },
    'node_config.+State is a section of the current generation, which the node of this one ignores',
    seldom,
  ],
  [
    'JSON-RPC at the loopback of its container',
    'node_config',
    { RPC: { Host: '127.0.0.1' } },
    'node_config.RPC.Host must be 0.0.0.0\n  at another address the node does not start, or its published port reaches nothing; firewall in the inventory says who may connect',
  ],
  [
    'WebSockets at an address of the server',
    'node_config',
    { RPC: { WebSockets: { Host: '10.0.0.21' } } },
    'node_config.RPC.WebSockets.Host must be 0.0.0.0\n  at another address the node does not start, or its published port reaches nothing; firewall in the inventory says who may connect',
  ],
  [
    'metrics at an address that Go does not take',
    'node_config',
    { Metrics: { Host: '::' } },
    'node_config.Metrics.Host must be 0.0.0.0\n  at another address the node does not start, or its published port reaches nothing; firewall in the inventory says who may connect',
  ],
  [
    'a key that this generation lacks',
    'prover_config',
    { stateManager: true },
    'prover_config.stateManager is not a key of the template\n  it is a key of the current generation (a key that the template does not have is written +stateManager)',
    seldom,
  ],
  [
    'a known key that is marked as new',
    'node_config',
    { RPC: { '+port': 80 } },
    'node_config.RPC.+port is there already, as Port\n  write the key without +, with the same capital letters',
  ],
  [
    'a new key with a name that is not one',
    'node_config',
    { '+a.b': 1 },
    'node_config.+a.b is not a name for a key\n  a name starts with a letter; letters, digits, _ and - follow',
  ],
  [
    'a user',
    'node_config',
    { State: { DB: { User: 'x' } } },
    'node_config.State.DB.User comes from credentials.state.user\n  change the value there: everything that uses it follows',
  ],
  [
    'the address of the prover',
    'node_config',
    { Executor: { URI: 'x:1' } },
    'node_config.Executor.URI comes from prover_config.executorServerPort\n  change the value there: everything that uses it follows',
  ],
  [
    'threads',
    'prover_config',
    { maxExecutorThreads: 5 },
    'prover_config.maxExecutorThreads comes from prover.executor_threads\n  change the value there: everything that uses it follows',
  ],
  ['a section as a value', 'node_config', { RPC: 5 }, 'node_config.RPC must be a mapping of keys'],
  [
    'a value as a section',
    'node_config',
    { Log: { Level: { a: 1 } } },
    'node_config.Log.Level must be one value, not a mapping',
  ],
  ['nothing', 'node_config', { Log: { Level: null } }, 'node_config.Log.Level has no value'],
  [
    'a duration with no unit',
    'node_config',
    { Synchronizer: { SyncInterval: '1' } },
    'node_config.Synchronizer.SyncInterval must be a duration with its unit, such as 30s or 5m',
  ],
  [
    'a duration that is a number',
    'node_config',
    { Synchronizer: { SyncInterval: 1 } },
    'node_config.Synchronizer.SyncInterval must be a duration with its unit, such as 30s or 5m',
  ],
  [
    'a duration in days',
    'node_config',
    { Synchronizer: { SyncInterval: '1d' } },
    'node_config.Synchronizer.SyncInterval must be a duration with its unit, such as 30s or 5m',
  ],
  [
    'a number as text',
    'prover_config',
    { dbMTCacheSize: '6' },
    'prover_config.dbMTCacheSize must be a whole number, not text\n  write the value without quotes',
  ],
  [
    'a fraction',
    'node_config',
    { Pool: { AccountQueue: 1.5 } },
    'node_config.Pool.AccountQueue must be a whole number',
  ],
  [
    'a number that wraps round',
    'node_config',
    { Pool: { AccountQueue: -1 } },
    'node_config.Pool.AccountQueue must not be negative',
  ],
  [
    'no request for a client',
    'node_config',
    { RPC: { MaxRequestsPerIPAndSecond: 0 } },
    'node_config.RPC.MaxRequestsPerIPAndSecond must be at least 1\n  with 0, json-rpc refuses what its clients ask',
  ],
  [
    'a number that becomes 0',
    'node_config',
    { State: { Batch: { Constraints: { MaxSteps: 4294967296 } } } },
    'node_config.State.Batch.Constraints.MaxSteps must be at most 4294967295',
  ],
  [
    'a number beyond what comes through',
    'node_config',
    { State: { Batch: { Constraints: { MaxCumulativeGasUsed: 2 ** 60 } } } },
    'node_config.State.Batch.Constraints.MaxCumulativeGasUsed is a number that cannot be written exactly',
  ],
  [
    'a word for true',
    'node_config',
    { RPC: { BatchRequestsEnabled: 'yes' } },
    'node_config.RPC.BatchRequestsEnabled must be true or false',
  ],
  [
    'a text that is a number',
    'node_config',
    { Log: { Level: 5 } },
    'node_config.Log.Level must be text\n  write the value in quotes',
  ],
  [
    'a sequencer',
    'node_config',
    { IsTrustedSequencer: true },
    'node_config.IsTrustedSequencer must be false\n  this node is never a sequencer: it follows the trusted one',
  ],
  [
    'a word that the node does not know',
    'node_config',
    { Log: { Environment: 'prod' } },
    'node_config.Log.Environment must be one of production, development',
  ],
  [
    'a level of the log that the node does not know',
    'node_config',
    { Log: { Level: 'verbos' } },
    'node_config.Log.Level must be one of debug, info, warn, error, dpanic, panic, fatal',
  ],
  [
    'a way to follow layer 1 that the node does not know',
    'node_config',
    { Synchronizer: { L1SynchronizationMode: 'paralel' } },
    'node_config.Synchronizer.L1SynchronizationMode must be one of sequential, parallel',
  ],
  [
    'no executor',
    'prover_config',
    { runExecutorServer: false },
    'prover_config.runExecutorServer must be true\n  the node has its blocks executed by it',
  ],
  [
    'no hash database',
    'prover_config',
    { runHashDBServer: false },
    "prover_config.runHashDBServer must be true\n  the node asks it for the chain's state",
  ],
  ['no port', 'node_config', { RPC: { Port: 70000 } }, 'node_config.RPC.Port must be a port, 1 to 65535'],
  [
    'a port twice',
    'node_config',
    { RPC: { Port: 9091 } },
    'node_config.RPC.Port is 9091, as Metrics.Port is',
  ],
  [
    'a port of the prover twice',
    'prover_config',
    { hashDBServerPort: 50071 },
    'prover_config.hashDBServerPort is 50071, as executorServerPort is',
  ],
  ['a list', 'node_config', { Log: { Level: ['a'] } }, 'node_config.Log.Level must be text, not a list'],
  ['no list', 'node_config', { Log: { Outputs: 'stderr' } }, 'node_config.Log.Outputs must be a list'],
  [
    'a list of two kinds',
    'node_config',
    { Log: { Outputs: ['a', 1] } },
    'node_config.Log.Outputs must be a list of values of one kind',
  ],
  [
    'a password',
    'node_config',
    { RPC: { '+Password': 'hunter2' } },
    'node_config.RPC.+Password is a password, and an inventory must not contain passwords',
  ],
  [
    'a mapping in a flat file',
    'prover_config',
    { '+new': { a: 1 } },
    "prover_config.+new must be one value: the prover's configuration is flat",
  ],
  [
    'a new key in another case',
    'node_config',
    { RPC: { '+New': 1, '+new': 2 } },
    'node_config.RPC.+new is there already, as +New\n  keep one of the two',
  ],
  [
    'a new section in another case',
    'node_config',
    { '+New': { A: 1 }, '+NEW': { B: 1 } },
    'node_config.+NEW is there already, as +New\n  keep one of the two',
  ],
  [
    'a key of a new section in another case',
    'node_config',
    { '+New': { A: { B: 1, b: 2 } } },
    'node_config.+New.A.b is there already, as B\n  keep one of the two',
  ],
  [
    'a new key of a host that all have in another case',
    'node_config',
    { '+New': 1 },
    'node_config.+new is there already, as +New\n  keep one of the two',
    [[['groups', 'rpc', 'rpc-1', 'vars'], { node_config: { '+new': 1 } }]],
  ],
  [
    'a key marked and not marked',
    'node_config',
    { '+A': { B: 1, '+B': { C: 2 } } },
    'node_config.+A.+B is there already, as B\n  keep one of the two',
  ],
  [
    'a new key of the prover twice',
    'prover_config',
    { '+new': 1, '+New': 2, new: 3 },
    /^prover_config\.new is not a key of the template\n/,
  ],
  [
    'a section with no key',
    'node_config',
    { '+A': { B: {} } },
    'node_config.+A.B is a new section with no key in it',
  ],
  [
    'a duration that Go cannot hold',
    'node_config',
    { RPC: { ReadTimeout: '2562047h47m16.854775808s' } },
    'node_config.RPC.ReadTimeout must be at most 2562047h, the longest that Go has',
  ],
  [
    'a list of another kind',
    'node_config',
    { Log: { Outputs: [1, 2] } },
    'node_config.Log.Outputs must be a list in which each value is text',
  ],
  [
    'the port of the pool database',
    'node_config',
    { Pool: { DB: { Port: '5433' } } },
    'node_config.Pool.DB.Port comes from the service pool-db in docker-compose.yml\n  change the value there: everything that uses it follows',
  ],
  [
    'a password that is a number',
    'node_config',
    { '+Password': 12345 },
    'node_config.+Password is a password, and an inventory must not contain passwords',
  ],
  [
    'a password below its name',
    'node_config',
    { '+Passwords': { main: 'hunter2' } },
    'node_config.+Passwords.main is a password, and an inventory must not contain passwords',
  ],
  [
    "the prover's aggregator",
    'prover_config',
    { aggregatorClientHost: 'x' },
    'prover_config.aggregatorClientHost comes from the group that the host is in\n  change the value there: everything that uses it follows',
  ],
  [
    'a value that a tag makes',
    'node_config',
    { '+A': timestamp },
    'the YAML tag !!timestamp is not supported\n  leave the tag out',
  ],
  [
    'a text with NUL',
    'node_config',
    { '+A': 'a\0' },
    'node_config.+A has a NUL character, which no program takes',
  ],
  ['no mapping at all', 'node_config', 5, 'node_config must be a mapping, not a whole number'],
])(
  '%s is refused before anything is changed, with its place',
  async (_, name, value, expected, more = []) => {
    const said = await complaint(name, value, more);
    const bare = said.replace(/^lab\.yaml:\d+:\d+: /, '');
    if (typeof expected === 'string') expect(bare).toBe(expected);
    else expect(bare).toMatch(expected);
    expect(said).toMatch(/^lab\.yaml:\d+:\d+: /);
  },
);
