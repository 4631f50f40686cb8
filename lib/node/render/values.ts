import { Secret } from '../../engine/secret/secret.ts';
import type { Value, Values } from '../../engine/template/template.ts';
import { isKeyOf } from '../../engine/text/keys.ts';
import { generations } from '../variables/generation.ts';
import { databaseHost, stateHost } from '../variables/hosts.ts';
import { choosesLayer1 } from '../variables/layer1.ts';
import type { RenderContext } from './render-context.ts';

/** PostgreSQL's own port, inside its container. */
const postgresPort = 5432;

/**
 * Open files of a prover, at least: four times the 2000 connections of the specification. Systemd
 * allows the engine 524288.
 */
const fewestOpenFiles = 8192;

const poolService = 'the service pool-db in docker-compose.yml';

/** The computed values, and the variables that an operator edits to change them. */
const computed = {
  node_host: 'the group that the host is in',
  http_api: 'http_api',
  prover_config_path: 'the generation',
  state_db_host: 'address of the Database+Sync server, or of the replica that the host reads',
  state_db_host_port: 'ports.state_db',
  pool_db_host: poolService,
  pool_db_port_inside: poolService,
  prover_database_url: 'credentials.prover',
  prover_open_files: 'prover.pool_connections',
  has_container_subnet: 'container_subnet',
  has_layer1_choice: 'network.l1_rpc_urls',
  is_encrypted: 'tls',
} as const;

/**
 * The variable that an operator edits to change the value of a name: that of the same path, unless
 * it is computed.
 */
export function sourceOf(name: string): string {
  return isKeyOf(computed, name) ? computed[name] : name;
}

/**
 * The values for one host's templates: its variables by their paths, such as `ports.state_db`, and
 * the computed ones.
 */
export function valuesFor({ host, vars, hosts }: RenderContext): Values {
  const server = stateHost(hosts, host);
  const isDatabase = host.name === server.name;
  // On its own host the state database has a name in the container network.
  const stateAddress = isDatabase ? 'state-db' : inUrl(server.connection.address);
  const statePort = isDatabase ? postgresPort : server.vars.ports.state_db;
  const { user, password, database } = vars.credentials.prover;
  const others: Readonly<Record<keyof typeof computed, Value>> = {
    node_host: isDatabase ? 'sync' : 'json-rpc',
    http_api: vars.http_api.join(','),
    prover_config_path: generations[vars.generation].proverConfig,
    state_db_host: stateAddress,
    state_db_host_port: statePort,
    pool_db_host: 'pool-db',
    pool_db_port_inside: postgresPort,
    // As many again as it opens at its start: a caller is one, too, and so are its files.
    prover_open_files: Math.max(fewestOpenFiles, 2 * vars.prover.pool_connections),
    has_container_subnet: vars.container_subnet !== undefined,
    has_layer1_choice: choosesLayer1(vars),
    is_encrypted: vars.tls !== undefined,
    prover_database_url: new Secret(
      `postgresql://${user}:${password.reveal()}@${stateAddress}:${statePort}/${database}`,
    ),
  };
  // Overrides have their values in the rendered configuration, and no file has the authority's key.
  const { node_config, prover_config, tls, ...plain } = vars;
  return { ...valuesByPath(plain), ...layer1Value({ host, vars, hosts }), ...others };
}

/**
 * The node of the Database+Sync server reaches HAProxy on its host by a name of the Compose file.
 */
function layer1Value({ host, vars, hosts }: RenderContext): Values {
  if (!choosesLayer1(vars)) return {};
  const server = databaseHost(hosts);
  const address = host.name === server.name ? 'layer1' : inUrl(server.connection.address);
  return { 'network.l1_rpc_url': `http://${address}:${server.vars.ports.layer1}` };
}

/** The programs insert the host into a URL unchanged: an IPv6 address needs its brackets. */
function inUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

/**
 * Every text, number, boolean and secret in a tree, by its path: `{ a: { b: 1 } }` becomes `{
 * 'a.b': 1 }`.
 */
export function valuesByPath(tree: unknown, above: readonly string[] = []): Values {
  if (['string', 'number', 'boolean'].includes(typeof tree) || tree instanceof Secret)
    return { [above.join('.')]: tree as Value };
  if (typeof tree !== 'object' || tree === null) return {};
  return Object.assign(
    {},
    ...Object.entries(tree).map(([key, value]) => valuesByPath(value, [...above, key])),
  );
}
