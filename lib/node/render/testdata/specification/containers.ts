import type { Server } from './row.ts';

export type Component = 'state-db' | 'pool-db' | 'prover' | 'sync' | 'json-rpc';

/** Spec part 1, server roles and deployment order: the containers of each kind of host. */
export const runs: Readonly<Record<Server, readonly Component[]>> = {
  database: ['state-db', 'prover', 'pool-db', 'sync'],
  rpc: ['prover', 'pool-db', 'json-rpc'],
};

type MountedFile =
  | 'init script'
  | 'data directory'
  | 'prover.config.json'
  | 'node.config.toml'
  | 'genesis.json';

/** Spec part 2, "Container definitions"; both generations. */
export const containers: readonly (readonly [
  component: Component,
  restart: string,
  rotation: 'not set' | readonly [maxSize: string, maxFile: string],
  ports: readonly string[],
  mounted: readonly MountedFile[],
])[] = [
  ['state-db', 'unless-stopped', 'not set', ['5432:5432'], ['init script', 'data directory']],
  ['pool-db', 'unless-stopped', 'not set', ['5433:5432'], ['data directory']],
  ['prover', 'unless-stopped', ['500m', '3'], ['50061:50061', '50071:50071'], ['prover.config.json']],
  ['sync', 'unless-stopped', ['500m', '3'], ['9091:9091'], ['node.config.toml', 'genesis.json']],
  [
    'json-rpc',
    'unless-stopped',
    ['500m', '5'],
    ['8123:8123', '8133:8133', '9092:9091'],
    ['node.config.toml', 'genesis.json'],
  ],
];

/** The same part, start commands; the databases are started with their server options. */
export const commands: Readonly<Record<'prover' | 'sync' | 'json-rpc', string>> = {
  prover: 'zkProver -c <config path>',
  sync: '<node binary> run --network custom --custom-network-file /app/genesis.json --cfg /app/config.toml --components synchronizer',
  'json-rpc':
    '<node binary> run --network custom --custom-network-file /app/genesis.json --cfg /app/config.toml --components rpc --http.api eth,net,debug,zkevm,txpool,web3',
};

/**
 * Path of each mounted file on the host and in the container; configuration is mounted read-only.
 */
export const mounts: Readonly<Record<MountedFile, string>> = {
  'init script': '{deployment}/init_prover_db.sql:/docker-entrypoint-initdb.d/init_prover_db.sql:ro',
  'data directory': '{data}/{component}:/var/lib/postgresql/data',
  'prover.config.json': '{deployment}/prover.config.json:<config path>:ro',
  'node.config.toml': '{deployment}/node.config.toml:/app/config.toml:ro',
  'genesis.json': '{deployment}/genesis.json:/app/genesis.json:ro',
};
