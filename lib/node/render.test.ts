import toml from '@iarna/toml';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { tokenizeSql } from '../template/sql.ts';
import { loadDeployment } from './inventory.ts';
import { type RenderedHost, renderHost } from './render.ts';
import { type Changes, labDeployment } from './testdata/lab-deployment.ts';

/** Takes the lab's smaller sizes away, so that the specification's defaults show. */
const specification: Changes = ['state_db', 'pool_db', 'node', 'prover', 'container_mtu'].map((key) => [
  ['vars', key],
  undefined,
]);
const older: Changes = [...specification, [['vars', 'generation'], 'older']];

async function rendered(
  host: string,
  changes: Changes = specification,
): Promise<RenderedHost & { text(name: string): string }> {
  const { hosts } = await loadDeployment(await labDeployment(changes));
  const found = hosts.find(({ name }) => name === host);
  if (!found) throw new Error(host);
  const result = await renderHost({ host: found, vars: found.vars, hosts });
  return { ...result, text: (name) => result.files.find((file) => file.name === name)?.content.text ?? '' };
}

const onDatabase = { state: 'state-db', port: '5432', node: 'sync' };
const onRpc = { state: '172.30.77.11', port: '5432', node: 'json-rpc' };

/** Spec part 2, "node.config.toml (current)" and "Batch constraints", each key with its type. */
const nodeConfig = ({ state, port }: typeof onDatabase) => ({
  IsTrustedSequencer: false,
  Log: { Environment: 'production', Level: 'info', Outputs: ['stderr'] },
  Synchronizer: {
    SyncInterval: '1s',
    SyncChunkSize: 300,
    SyncOnlyTrusted: true,
    TrustedSequencerURL: 'http://172.30.77.10:8545',
    L1SynchronizationMode: 'parallel',
    UpgradeEtrogBatchNumber: 1642245,
    L1ParallelSynchronization: {
      MaxClients: 10,
      MaxPendingNoProcessedBlocks: 25,
      RequestLastBlockPeriod: '5s',
      RequestLastBlockTimeout: '5s',
      RequestLastBlockMaxRetries: 3,
      StatisticsPeriod: '5m',
      TimeoutMainLoop: '5m',
      RollupInfoRetriesSpacing: '5s',
      FallbackToSequentialModeOnSynchronized: false,
      PerformanceWarning: { AceptableInacctivityTime: '5s', ApplyAfterNumRollupReceived: 10 },
    },
  },
  Etherman: { URL: 'http://172.30.77.10:8546', ForkIDChunkSize: 20000, MultiGasProvider: false },
  RPC: {
    Host: '0.0.0.0',
    Port: 8123,
    ReadTimeout: '360s',
    WriteTimeout: '360s',
    MaxRequestsPerIPAndSecond: 10000,
    SequencerNodeURI: 'http://172.30.77.10:8545',
    EnableL2SuggestedGasPricePolling: false,
    TraceBatchUseHTTPS: true,
    BatchRequestsEnabled: true,
    BatchRequestsLimit: 10000,
    WebSockets: { Enabled: true, Host: '0.0.0.0', Port: 8133 },
  },
  State: {
    DB: {
      User: 'state_user',
      Password: 'state.Pw~1',
      Name: 'state_db',
      Host: state,
      Port: port,
      EnableLog: false,
      MaxConns: 800,
    },
    Batch: {
      Constraints: {
        MaxTxsPerBatch: 300,
        MaxBatchBytesSize: 120000,
        MaxCumulativeGasUsed: 1125899906842624,
        MaxKeccakHashes: 2145,
        MaxPoseidonHashes: 252357,
        MaxPoseidonPaddings: 135191,
        MaxMemAligns: 236585,
        MaxArithmetics: 236585,
        MaxBinaries: 473170,
        MaxSteps: 7570538,
        MaxSHA256Hashes: 1596,
      },
    },
  },
  Pool: {
    FreeClaimGasLimit: 1500000,
    IntervalToRefreshBlockedAddresses: '5m',
    IntervalToRefreshGasPrices: '5s',
    MaxTxBytesSize: 100132,
    MaxTxDataBytesSize: 100000,
    DefaultMinGasPriceAllowed: 6000000,
    MinAllowedGasPriceInterval: '5m',
    PollMinAllowedGasPriceInterval: '15s',
    AccountQueue: 100,
    GlobalQueue: 10240,
    EffectiveGasPrice: {
      Enabled: false,
      L1GasPriceFactor: 0.25,
      ByteGasCost: 16,
      ZeroByteGasCost: 4,
      NetProfit: 1,
      BreakEvenFactor: 1.1,
      FinalDeviationPct: 10,
      EthTransferGasPrice: 0,
      EthTransferL1GasPriceFactor: 0,
      L2GasPriceSuggesterFactor: 0.5,
    },
    DB: {
      User: 'pool_user',
      Password: 'pool.Pw~2',
      Name: 'pool_db',
      Host: 'pool-db',
      Port: '5432',
      EnableLog: false,
      MaxConns: 800,
    },
  },
  Metrics: {
    Host: '0.0.0.0',
    Port: 9091,
    Enabled: true,
    ProfilingHost: '0.0.0.0',
    ProfilingPort: 6060,
    ProfilingEnabled: true,
  },
  MTClient: { URI: 'prover:50061' },
  Executor: {
    URI: 'prover:50071',
    MaxResourceExhaustedAttempts: 5,
    WaitOnResourceExhaustion: '1s',
    MaxGRPCMessageSize: 300000000,
  },
});

/** Spec part 2, "node.config.toml, older configuration (differences only)". */
function olderNodeConfig(place: typeof onDatabase) {
  const { State, Synchronizer, RPC, Pool, Executor, ...same } = nodeConfig(place);
  const {
    L1ParallelSynchronization: _a,
    UpgradeEtrogBatchNumber: _b,
    L1SynchronizationMode: _c,
    ...synchronizer
  } = Synchronizer;
  const { BatchRequestsEnabled: _d, BatchRequestsLimit: _e, ...rpc } = RPC;
  return {
    ...same,
    Synchronizer: synchronizer,
    RPC: { ...rpc, ReadTimeout: '60s', WriteTimeout: '60s', MaxRequestsPerIPAndSecond: 100 },
    StateDB: State.DB,
    Pool: { DefaultMinGasPriceAllowed: 50000000, DB: Pool.DB },
    Executor: { ...Executor, MaxGRPCMessageSize: 100000000 },
  };
}

const words = (text: string): string[] => text.trim().split(/,\s*/);
const all = (keys: string[], value: boolean) => Object.fromEntries(keys.map((key) => [key, value]));

/** Spec part 2, "prover.config.json (current)". */
const proverConfig = ({ state, port, node }: typeof onDatabase) => ({
  ...all(
    words(
      'runExecutorServer, runHashDBServer, executeInParallel, useMainExecGenerated, saveOutputToFile, saveProofToFile, loadDBToMemCache, dbMultiWrite, dbGetTree, stateManager',
    ),
    true,
  ),
  ...all(
    words(`runExecutorClient, runExecutorClientMultithread, runHashDBTest, runAggregatorServer, runAggregatorClient, runFileGenBatchProof,
      runFileGenAggregatedProof, runFileGenFinalProof, runFileProcessBatch, runFileProcessBatchMultithread, runKeccakScriptGenerator,
      runKeccakTest, runStorageSMTest, runBinarySMTest, runMemAlignSMTest, runSHA256Test, runBlakeTest, saveRequestToFile, saveInputToFile,
      saveDbReadsToFile, saveDbReadsToFileOnChange, saveResponseToFile, opcodeTracer, logRemoteDbReads, logExecutorServerResponses,
      executorROMLineTraces, mapConstPolsFile, mapConstantsTreeFile, dbFlushInParallel, ECRecoverPrecalc, useAssociativeCache`),
    false,
  ),
  proverServerPort: 50051,
  proverClientPort: 50051,
  proverServerMockPort: 50052,
  proverServerMockTimeout: 10000000,
  proverClientHost: '127.0.0.1',
  executorClientHost: '127.0.0.1',
  executorServerPort: 50071,
  executorClientPort: 50071,
  hashDBServerPort: 50061,
  hashDBURL: 'local',
  aggregatorServerPort: 50081,
  aggregatorClientPort: 50081,
  aggregatorClientHost: node,
  configPath: '/usr/src/app/config',
  outputPath: 'output',
  databaseURL: `postgresql://prover_user:prover.Pw~3@${state}:${port}/prover_db`,
  dbNodesTableName: 'state.nodes',
  dbProgramTableName: 'state.program',
  dbMTCacheSize: 1024,
  dbProgramCacheSize: 512,
  dbNumberOfPoolConnections: 2000,
  cleanerPollingPeriod: 600,
  requestsPersistence: 3600,
  maxExecutorThreads: 500,
  maxProverThreads: 20,
  maxHashDBThreads: 300,
  ECRecoverPrecalcNThreads: 4,
  inputFile: 'input_executor_0.json',
  inputFile2: 'input_executor_1.json',
  keccakScriptFile: 'config/scripts/keccak_script.json',
  storageRomFile: 'config/scripts/storage_sm_rom.json',
});

/** Spec part 2, "Older prover configuration differs in". */
function olderProverConfig(place: typeof onDatabase) {
  const { stateManager: _, ...same } = proverConfig(place) as ReturnType<typeof proverConfig> & {
    stateManager?: boolean;
  };
  return {
    ...same,
    dbMTCacheSize: 6144,
    dbProgramCacheSize: 6144,
    dbNumberOfPoolConnections: 1000,
    dbGetTree: false,
    maxHashDBThreads: 120,
    saveOutputToFile: false,
    saveProofToFile: false,
    outputPath: 'runtime/output',
    aggregatorClientHost: '127.0.0.1',
    dbConnectionsPool: true,
    loadDBToMemCacheInParallel: false,
    loadDBToMemTimeout: 30000000,
    dbReadRetryDelay: 100000,
    dbMetrics: false,
    dbClearCache: false,
    executorClientLoops: 1,
    logExecutorServerTxs: true,
    fullTracerTraceReserveSize: 262144,
    aggregatorClientMockTimeout: 10000000,
    aggregatorClientWatchdogTimeout: 60000000,
  };
}

const logging = (files: string) => ({ driver: 'json-file', options: { 'max-size': '500m', 'max-file': files } });
const nodeMounts = [
  '/opt/rpc-node/node.config.toml:/app/config.toml:ro',
  '/opt/rpc-node/genesis.json:/app/genesis.json:ro',
];
const nodeCommand = (binary: string, component: string) =>
  `${binary} run --network custom --custom-network-file /app/genesis.json --cfg /app/config.toml --components ${component}`.split(
    ' ',
  );
const options = (values: Record<string, string | number>): string[] =>
  Object.entries(values).flatMap(([key, value]) => ['-c', `${key}=${value}`]);

/** Spec part 2, "Container definitions"; labels apart. */
const poolDb = {
  container_name: 'pool-db',
  image: '172.30.77.10:5000/postgres:15',
  restart: 'unless-stopped',
  cpu_shares: 4096,
  ports: ['5433:5432'],
  environment: { POSTGRES_USER: 'pool_user', POSTGRES_PASSWORD: 'pool.Pw~2', POSTGRES_DB: 'pool_db' },
  volumes: ['/data/pool-db:/var/lib/postgresql/data'],
  command: ['postgres', '-N', '500', ...options({ max_connections: 10000 })],
};
const prover = {
  container_name: 'prover',
  image: '172.30.77.10:5000/prover:v6.0.2',
  restart: 'unless-stopped',
  logging: logging('3'),
  ports: ['50061:50061', '50071:50071'],
  volumes: ['/opt/rpc-node/prover.config.json:/usr/src/app/config.json:ro'],
  entrypoint: ['zkProver'],
  command: ['-c', '/usr/src/app/config.json'],
};
const stateDb = {
  container_name: 'state-db',
  image: '172.30.77.10:5000/postgres:15',
  restart: 'unless-stopped',
  shm_size: '1gb',
  cpu_shares: 4096,
  ports: ['5432:5432'],
  environment: { POSTGRES_USER: 'state_user', POSTGRES_PASSWORD: 'state.Pw~1', POSTGRES_DB: 'state_db' },
  volumes: [
    '/opt/rpc-node/init_prover_db.sql:/docker-entrypoint-initdb.d/init_prover_db.sql:ro',
    '/data/state-db:/var/lib/postgresql/data',
  ],
  command: [
    'postgres',
    '-N',
    '500',
    ...options({
      max_connections: 20000,
      shared_buffers: '16GB',
      work_mem: '32MB',
      wal_buffers: '8MB',
      effective_cache_size: '16GB',
      maintenance_work_mem: '128MB',
      checkpoint_completion_target: 0.7,
      max_wal_size: '4GB',
      min_wal_size: '200MB',
      max_worker_processes: 16,
    }),
  ],
};
const sync = (binary: string) => ({
  container_name: 'sync',
  image: '172.30.77.10:5000/node:v3.1.0',
  restart: 'unless-stopped',
  logging: logging('3'),
  ports: ['9091:9091'],
  volumes: nodeMounts,
  command: nodeCommand(binary, 'synchronizer'),
});
const jsonRpc = (binary: string) => ({
  container_name: 'json-rpc',
  image: '172.30.77.10:5000/node:v3.1.0',
  restart: 'unless-stopped',
  logging: logging('5'),
  ports: ['8123:8123', '8133:8133', '9092:9091'],
  volumes: nodeMounts,
  command: [...nodeCommand(binary, 'rpc'), '--http.api', 'eth,net,debug,zkevm,txpool,web3'],
});

function compose(host: RenderedHost & { text(name: string): string }) {
  const parsed = parseYaml(host.text('docker-compose.yml'), { version: '1.1' });
  const labels: Record<string, string> = {};
  const services = Object.fromEntries(
    Object.entries(parsed.services as Record<string, { labels: Record<string, string> }>).map(
      ([name, { labels: own, ...service }]) => {
        expect(Object.keys(own)).toEqual(['rpc-playbooks.config-hash']);
        labels[name] = own['rpc-playbooks.config-hash'] ?? '';
        return [name, service];
      },
    ),
  );
  return { parsed, services, labels };
}

describe.each([
  ['current', specification, '/app/zkevm-node', nodeConfig, proverConfig],
  ['older', older, '/app/cdk-validium-node', olderNodeConfig, olderProverConfig],
] as const)('%s generation', (generation, changes, binary, node, proverOf) => {
  test('the Database+Sync server has exactly what the specification says', async () => {
    const host = await rendered('db-1', changes);
    expect(host.files.map(({ name, path, mode, group }) => [name, path, mode.toString(8), group])).toEqual([
      ['docker-compose.yml', '/opt/rpc-node/docker-compose.yml', '600', 'root'],
      ['init_prover_db.sql', '/opt/rpc-node/init_prover_db.sql', '640', '999'],
      ['node.config.toml', '/opt/rpc-node/node.config.toml', '600', 'root'],
      ['prover.config.json', '/opt/rpc-node/prover.config.json', '600', 'root'],
      ['snapshot_restore.toml', '/opt/rpc-node/snapshot_restore.toml', '600', 'root'],
    ]);
    expect(JSON.parse(JSON.stringify(toml.parse(host.text('node.config.toml'))))).toEqual(node(onDatabase));
    expect(JSON.parse(host.text('prover.config.json'))).toEqual(proverOf(onDatabase));

    const { parsed, services, labels } = compose(host);
    expect(parsed.version).toBe('3.5');
    expect(parsed.networks).toEqual({
      default: { name: 'rpc-node', driver_opts: { 'com.docker.network.driver.mtu': '1500' } },
    });
    expect(services).toEqual({ 'state-db': stateDb, 'pool-db': poolDb, prover, sync: sync(binary) });
    for (const [name, label] of Object.entries(labels)) expect(label).toBe(host.services[name as 'sync']?.configHash);
    expect(host.services['json-rpc']).toBeUndefined();
    expect(host.services.sync?.image).toBe('172.30.77.10:5000/node:v3.1.0');

    const restore = JSON.parse(JSON.stringify(toml.parse(host.text('snapshot_restore.toml'))));
    const connection = {
      Host: generation === 'older' ? 'state-db' : '127.0.0.1',
      Port: '5432',
      EnableLog: false,
      MaxConns: 200,
    };
    const state = { User: 'state_user', Password: 'state.Pw~1', Name: 'state_db', ...connection };
    expect(restore).toEqual({
      Log: { Environment: 'production', Level: 'info', Outputs: ['stderr'] },
      ...(generation === 'older' ? { StateDB: state } : { State: { DB: state } }),
      HashDB: { User: 'prover_user', Password: 'prover.Pw~3', Name: 'prover_db', ...connection },
    });
  });

  test('an RPC server has exactly what the specification says, and the state database by its address', async () => {
    const host = await rendered('rpc-2', changes);
    expect(host.files.map(({ name }) => name)).toEqual([
      'docker-compose.yml',
      'node.config.toml',
      'prover.config.json',
    ]);
    expect(JSON.parse(JSON.stringify(toml.parse(host.text('node.config.toml'))))).toEqual(node(onRpc));
    expect(JSON.parse(host.text('prover.config.json'))).toEqual(proverOf(onRpc));
    const { services } = compose(host);
    expect(services).toEqual({ 'pool-db': poolDb, prover, 'json-rpc': jsonRpc(binary) });
    expect(host.services['state-db']).toBeUndefined();
    expect(host.services.sync).toBeUndefined();
  });
});

test('the init script makes the prover database as the specification says, in its order', async () => {
  const tokens = tokenizeSql((await rendered('db-1')).text('init_prover_db.sql'));
  const script = tokens
    .filter(({ kind }) => kind !== 'comment')
    .map(({ kind, value }) =>
      kind === 'literal' ? `'${value}'` : kind === 'identifier' ? value : value.replaceAll('\\connect', 'CONNECT'),
    )
    .join('')
    .replace(/\n\n+/g, '\n')
    .replace(/\s+/g, ' ');
  const user = 'prover_user';
  expect(script.trim()).toBe(
    [
      'CREATE DATABASE prover_db;',
      'CONNECT prover_db',
      'CREATE SCHEMA state;',
      'CREATE TABLE state.nodes ( hash BYTEA PRIMARY KEY, data BYTEA NOT NULL );',
      'CREATE TABLE state.program ( hash BYTEA PRIMARY KEY, data BYTEA NOT NULL );',
      `CREATE USER ${user} WITH PASSWORD 'prover.Pw~3';`,
      `ALTER DATABASE prover_db OWNER TO ${user};`,
      `ALTER SCHEMA state OWNER TO ${user};`,
      `ALTER SCHEMA public OWNER TO ${user};`,
      `ALTER TABLE state.nodes OWNER TO ${user};`,
      `ALTER TABLE state.program OWNER TO ${user};`,
      `ALTER USER ${user} SET search_path TO state;`,
    ].join(' '),
  );
});

test('the lab lowers sizes, and every consumer follows', async () => {
  const host = await rendered('rpc-1', []);
  expect(compose(host).services['pool-db']).toMatchObject({
    command: ['postgres', '-N', '500', '-c', 'max_connections=500'],
  });
  expect(JSON.parse(host.text('prover.config.json'))).toMatchObject({
    dbNumberOfPoolConnections: 60,
    maxExecutorThreads: 20,
    maxHashDBThreads: 20,
  });
  expect(toml.parse(host.text('node.config.toml'))).toMatchObject({
    State: { DB: { MaxConns: 100 } },
    Pool: { DB: { MaxConns: 100 } },
  });
  expect(compose(host).parsed.networks.default.driver_opts).toEqual({ 'com.docker.network.driver.mtu': '1400' });
});

test('a changed port of the state database is followed on every host', async () => {
  const changes: Changes = [
    [['vars', 'ports'], { state_db: 15432 }],
    [['groups', 'database', 'db-1', 'address'], 'fd00::11'],
  ];
  const [db, rpc] = [await rendered('db-1', changes), await rendered('rpc-1', changes)];
  expect(compose(db).services['state-db']).toMatchObject({ ports: ['15432:5432'] });
  expect(toml.parse(db.text('node.config.toml'))).toMatchObject({ State: { DB: { Host: 'state-db', Port: '5432' } } });
  expect(toml.parse(db.text('snapshot_restore.toml'))).toMatchObject({ HashDB: { Port: '15432' } });
  expect(toml.parse(rpc.text('node.config.toml'))).toMatchObject({
    State: { DB: { Host: '[fd00::11]', Port: '15432' } },
  });
  expect(JSON.parse(rpc.text('prover.config.json')).databaseURL).toBe(
    'postgresql://prover_user:prover.Pw~3@[fd00::11]:15432/prover_db',
  );
});

describe('the hash of a service changes with', () => {
  const changed = async (host: string, changes: Changes): Promise<string[]> => {
    const [was, is] = [await rendered(host, []), await rendered(host, changes)];
    const names = Object.keys(was.services) as (keyof typeof was.services)[];
    return names.filter((name) => was.services[name]?.configHash !== is.services[name]?.configHash);
  };
  test.each<[string, string, Changes, string[]]>([
    ['nothing', 'db-1', [], []],
    ['a file mounted into it', 'db-1', [[['vars', 'network', 'l1_rpc_url'], 'http://a.example/']], ['sync']],
    ['the same, on an RPC server', 'rpc-1', [[['vars', 'network', 'l1_rpc_url'], 'http://a.example/']], ['json-rpc']],
    ['the genesis file', 'rpc-1', [[['vars', 'network', 'genesis', 'sha256'], 'd'.repeat(64)]], ['json-rpc']],
    ['its image', 'db-1', [[['vars', 'images', 'prover'], 'other:1']], ['prover']],
    ['its port', 'rpc-1', [[['vars', 'ports'], { rpc_http: 80 }]], ['json-rpc']],
    ['the prover database', 'db-1', [[['vars', 'credentials', 'prover', 'user'], 'other']], ['state-db', 'prover']],
    ['a size of the server', 'db-1', [[['vars', 'state_db', 'work_mem'], '8MB']], ['state-db']],
  ])('%s (%s)', async (_, host, changes, expected) => {
    expect(await changed(host, changes)).toEqual(expected);
  });
});

test('no file shows a password when masked', async () => {
  for (const { files } of [await rendered('db-1'), await rendered('rpc-1')]) {
    for (const { name, content } of files) {
      expect(content.holdsSecrets, name).toBe(true);
      expect(content.text).toMatch(/\.Pw~/);
      expect(content.mask(content.text)).not.toMatch(/\.Pw~/);
      expect(content.mask(content.text.replaceAll('.Pw~', '.older-'))).not.toMatch(/\.older-/);
    }
  }
});
