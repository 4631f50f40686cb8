import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Context } from '../../engine/resource/role.ts';
import { Secret } from '../../engine/secret/secret.ts';
import type { Value, Values } from '../../engine/template/template.ts';
import { databaseHost } from '../variables/database-host.ts';
import { generationOf } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';

/** Where a value is needed, and what is known there. */
interface Setting {
  readonly vars: Variables;
  readonly database: InventoryHost<Variables>;
  readonly isDatabase: boolean;
  readonly inside: InsidePorts;
}

/** Ports on which the programs listen inside their containers: what their own configuration says, once that is rendered. */
export interface InsidePorts {
  readonly hashDb?: number;
  readonly executor?: number;
  readonly rpc?: number;
  readonly webSocket?: number;
  readonly metrics?: number;
}

interface Source {
  /** What an operator changes to change it: a variable of the inventory, or a key of a configuration. */
  readonly from: string;
  of(at: Setting): Value | undefined;
}

/** PostgreSQL's own port, inside its container. */
const postgresPort = 5432;

/** On its own host the state database is a name of the container network; from another, an address and the published port. */
const stateHost = ({ isDatabase, database }: Setting): string =>
  isDatabase ? 'state-db' : inUrl(database.connection.address);
const statePort = ({ isDatabase, database }: Setting): number =>
  isDatabase ? postgresPort : database.vars.ports.state_db;

/** The programs put the host into a URL as it is: an IPv6 address needs its brackets. */
function inUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

function proverUrl(at: Setting): Secret {
  const { user, password, database } = at.vars.credentials.prover;
  return new Secret(`postgresql://${user}:${password.reveal()}@${stateHost(at)}:${statePort(at)}/${database}`);
}

/** A value that is one variable of the inventory, by its path. */
function variable(from: string): Source {
  const path = from.split('.');
  return {
    from,
    of: ({ vars }) => path.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], vars) as Value,
  };
}

/**
 * Every name that may stand in a template, and the one place where its value comes from. Only credentials, addresses, ports, sizes
 * and paths: all else stands in the templates.
 */
export const sources = {
  deployment_path: variable('paths.deployment'),
  data_path: variable('paths.data'),
  container_mtu: variable('container_mtu'),
  trusted_sequencer_url: variable('network.trusted_sequencer_url'),
  l1_rpc_url: variable('network.l1_rpc_url'),

  node_image: variable('images.node'),
  prover_image: variable('images.prover'),
  database_image: variable('images.database'),
  node_binary: variable('node_binary'),
  node_host: { from: 'the group that the host is in', of: ({ isDatabase }) => (isDatabase ? 'sync' : 'json-rpc') },
  prover_config_path: { from: 'the generation', of: ({ vars }) => generationOf(vars).proverConfig },

  state_db_user: variable('credentials.state.user'),
  state_db_password: variable('credentials.state.password'),
  state_db_name: variable('credentials.state.database'),
  state_db_host: { from: 'address of the Database+Sync server', of: stateHost },
  state_db_host_port: { from: 'ports.state_db', of: statePort },
  pool_db_user: variable('credentials.pool.user'),
  pool_db_password: variable('credentials.pool.password'),
  pool_db_name: variable('credentials.pool.database'),
  prover_db_user: variable('credentials.prover.user'),
  prover_db_password: variable('credentials.prover.password'),
  prover_db_name: variable('credentials.prover.database'),
  prover_database_url: { from: 'credentials.prover', of: proverUrl },

  state_db_port: variable('ports.state_db'),
  pool_db_port: variable('ports.pool_db'),
  prover_hash_db_port: variable('ports.prover_hash_db'),
  prover_executor_port: variable('ports.prover_executor'),
  sync_metrics_port: variable('ports.sync_metrics'),
  rpc_http_port: variable('ports.rpc_http'),
  rpc_websocket_port: variable('ports.rpc_websocket'),
  rpc_metrics_port: variable('ports.rpc_metrics'),

  hash_db_port_inside: { from: 'prover_config.hashDBServerPort', of: ({ inside }) => inside.hashDb },
  executor_port_inside: { from: 'prover_config.executorServerPort', of: ({ inside }) => inside.executor },
  rpc_port_inside: { from: 'node_config.RPC.Port', of: ({ inside }) => inside.rpc },
  websocket_port_inside: { from: 'node_config.RPC.WebSockets.Port', of: ({ inside }) => inside.webSocket },
  metrics_port_inside: { from: 'node_config.Metrics.Port', of: ({ inside }) => inside.metrics },

  state_db_max_connections: variable('state_db.max_connections'),
  state_db_shared_buffers: variable('state_db.shared_buffers'),
  state_db_work_mem: variable('state_db.work_mem'),
  state_db_wal_buffers: variable('state_db.wal_buffers'),
  state_db_effective_cache_size: variable('state_db.effective_cache_size'),
  state_db_maintenance_work_mem: variable('state_db.maintenance_work_mem'),
  state_db_max_wal_size: variable('state_db.max_wal_size'),
  state_db_min_wal_size: variable('state_db.min_wal_size'),
  state_db_max_worker_processes: variable('state_db.max_worker_processes'),
  state_db_shm_size: variable('state_db.shm_size'),
  pool_db_max_connections: variable('pool_db.max_connections'),
  state_max_conns: variable('node.state_connections'),
  pool_max_conns: variable('node.pool_connections'),
  prover_pool_connections: variable('prover.pool_connections'),
  prover_executor_threads: variable('prover.executor_threads'),
  prover_hash_db_threads: variable('prover.hash_db_threads'),
} as const satisfies Readonly<Record<string, Source>>;

/** What stands behind each name in one host's templates. */
export function valuesFor(
  { host, vars, hosts }: Pick<Context<Variables>, 'host' | 'vars' | 'hosts'>,
  inside: InsidePorts,
): Values {
  const database = databaseHost(hosts);
  const at: Setting = { vars, database, isDatabase: host.name === database.name, inside };
  const known = Object.entries<Source>(sources).map(([name, source]) => [name, source.of(at)]);
  return Object.fromEntries(known.filter(([, value]) => value !== undefined));
}
