import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse as parseYaml } from 'yaml';
import { configHashLabel } from '../resource/compose-service.ts';
import type { Content } from '../resource/content.ts';
import type { Context } from '../resource/role.ts';
import { Secret } from '../secret/secret.ts';
import { renderTemplateFile, type Values } from '../template/template.ts';
import { type FileName, generationOf, nodeBinaryOf } from './generation.ts';
import { databaseHost } from './inventory.ts';
import type { Variables } from './variables.ts';

/** What a host's files are rendered from. */
export type RenderContext = Pick<Context<Variables>, 'host' | 'vars' | 'hosts'>;

/** The components, each one container and one Compose service of that name. */
export type ServiceName = 'state-db' | 'pool-db' | 'prover' | 'sync' | 'json-rpc';

export interface RenderedFile {
  readonly name: FileName;
  /** On the host. */
  readonly path: string;
  readonly content: Content;
  /** Permission bits. */
  readonly mode: number;
  /** Name or number; root unless the container reads it as somebody else. */
  readonly group: string;
}

export interface RenderedService {
  /** Changes when the service's definition or any file mounted into it does. It is also the container's label. */
  readonly configHash: string;
  readonly image: string;
  /** Files of ours that are mounted into it and that it reads whenever it starts. */
  readonly readsAtStart: readonly string[];
}

export interface RenderedHost {
  readonly files: readonly RenderedFile[];
  /** undefined where the host does not run it. */
  readonly services: Readonly<Record<ServiceName, RenderedService | undefined>>;
}

/** Where the checked genesis file is, from which the node's containers mount it. */
export function genesisPath(vars: Pick<Variables, 'paths'>): string {
  return `${vars.paths.deployment}/genesis.json`;
}

/**
 * Renders all files of one host: its Compose file and what its containers mount (spec part 2), and on the Database+Sync server the
 * prover database's init script and the restore tool's configuration. Nothing is read from any host.
 *
 * @throws Problem or Problems from a template, Problem where the deployment has no database host
 */
export function renderHost(context: RenderContext): Promise<RenderedHost> {
  const known = rendered.get(context.vars);
  if (known && known.host === context.host && known.hosts === context.hosts) return known.result;
  const result = renderAnew(context);
  rendered.set(context.vars, { host: context.host, hosts: context.hosts, result });
  return result;
}

/** Half a dozen roles ask for the same host's files, and preflight on every host for all hosts'. */
const rendered = new WeakMap<Variables, Omit<RenderContext, 'vars'> & { readonly result: Promise<RenderedHost> }>();

async function renderAnew(context: RenderContext): Promise<RenderedHost> {
  const { vars } = context;
  const isDatabase = context.host.groups.includes('database');
  const values = valuesFor(context);
  const names: readonly FileName[] = isDatabase
    ? ['init_prover_db.sql', 'node.config.toml', 'prover.config.json', 'snapshot_restore.toml']
    : ['node.config.toml', 'prover.config.json'];
  const mounted = await Promise.all(
    names.map(async (name) => renderedFile(name, await render(vars, name, values), vars)),
  );

  const template = isDatabase ? 'docker-compose.database.yml' : 'docker-compose.rpc.yml';
  const unlabelled = await render(vars, template, { ...values, ...hashValues(() => '') });
  const services = hashedServices(unlabelled.text, mounted, vars);
  const compose = await render(vars, template, {
    ...values,
    ...hashValues((name) => services[name]?.configHash ?? ''),
  });
  return { files: [renderedFile('docker-compose.yml', compose, vars), ...mounted], services };
}

/** Where the database image looks for scripts of its first start. */
const initScripts = '/docker-entrypoint-initdb.d/';

const serviceNames: readonly ServiceName[] = ['state-db', 'pool-db', 'prover', 'sync', 'json-rpc'];

/** Only credentials, addresses, sizes and paths: all else stands in the templates. */
function valuesFor({ host, vars, hosts }: RenderContext): Values {
  const database = databaseHost(hosts);
  const isDatabase = host.name === database.name;
  const { state, pool, prover } = vars.credentials;
  // On its own host the state database is a name of the container network; from another, an address and the published port.
  const stateHost = isDatabase ? 'state-db' : database.reach.address;
  const statePort = isDatabase ? 5432 : database.vars.ports.state_db;
  return {
    deployment_path: vars.paths.deployment,
    data_path: vars.paths.data,
    container_mtu: vars.container_mtu,
    trusted_sequencer_url: vars.network.trusted_sequencer_url,
    l1_rpc_url: vars.network.l1_rpc_url,

    node_image: vars.images.node,
    prover_image: vars.images.prover,
    database_image: vars.images.database,
    node_binary: nodeBinaryOf(vars),
    node_host: isDatabase ? 'sync' : 'json-rpc',
    prover_config_path: generationOf(vars).proverConfig,

    state_db_user: state.user,
    state_db_password: state.password,
    state_db_name: state.database,
    state_db_host: inUrl(stateHost),
    state_db_host_port: statePort,
    pool_db_user: pool.user,
    pool_db_password: pool.password,
    pool_db_name: pool.database,
    prover_db_user: prover.user,
    prover_db_password: prover.password,
    prover_db_name: prover.database,
    prover_database_url: new Secret(
      `postgresql://${prover.user}:${prover.password.reveal()}@${inUrl(stateHost)}:${statePort}/${prover.database}`,
    ),

    state_db_port: vars.ports.state_db,
    pool_db_port: vars.ports.pool_db,
    prover_hash_db_port: vars.ports.prover_hash_db,
    prover_executor_port: vars.ports.prover_executor,
    sync_metrics_port: vars.ports.sync_metrics,
    rpc_http_port: vars.ports.rpc_http,
    rpc_websocket_port: vars.ports.rpc_websocket,
    rpc_metrics_port: vars.ports.rpc_metrics,

    state_db_max_connections: vars.state_db.max_connections,
    state_db_shared_buffers: vars.state_db.shared_buffers,
    state_db_work_mem: vars.state_db.work_mem,
    state_db_wal_buffers: vars.state_db.wal_buffers,
    state_db_effective_cache_size: vars.state_db.effective_cache_size,
    state_db_maintenance_work_mem: vars.state_db.maintenance_work_mem,
    state_db_max_wal_size: vars.state_db.max_wal_size,
    state_db_min_wal_size: vars.state_db.min_wal_size,
    state_db_max_worker_processes: vars.state_db.max_worker_processes,
    state_db_shm_size: vars.state_db.shm_size,
    pool_db_max_connections: vars.pool_db.max_connections,
    state_max_conns: vars.node.state_connections,
    pool_max_conns: vars.node.pool_connections,
    prover_pool_connections: vars.prover.pool_connections,
    prover_executor_threads: vars.prover.executor_threads,
    prover_hash_db_threads: vars.prover.hash_db_threads,
  };
}

/** The programs put the host into a URL as it is: an IPv6 address needs its brackets. */
function inUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

function hashValues(hashOf: (name: ServiceName) => string): Values {
  return Object.fromEntries(serviceNames.map((name) => [`${name.replaceAll('-', '_')}_config_hash`, hashOf(name)]));
}

const templatesFolder = fileURLToPath(new URL('../../templates', import.meta.url));

/** Renders the template of the host's generation; what a generation does not have of its own, it shares with the current one. */
async function render(vars: Variables, name: string, values: Values): Promise<Content> {
  const candidates = generationOf(vars).templates.map((folder) => join(templatesFolder, folder, name));
  const file = candidates.find((candidate) => existsSync(candidate));
  if (file === undefined) throw new Error(`no template ${name} in ${candidates.join(' or ')}`);
  return renderTemplateFile(file, values, join('templates', relative(templatesFolder, file)));
}

function renderedFile(name: FileName, content: Content, vars: Variables): RenderedFile {
  const path = `${vars.paths.deployment}/${name}`;
  // The image runs init scripts as postgres, not as root. The folder itself is closed to everybody else on the host.
  if (name === 'init_prover_db.sql') return { name, path, content, mode: 0o640, group: String(vars.state_db.group_id) };
  return { name, path, content, mode: 0o600, group: 'root' };
}

interface ComposeService {
  readonly image: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
}

/** Each service's definition without its label, with the content of every file of ours that is mounted into it. */
function hashedServices(compose: string, files: readonly RenderedFile[], vars: Variables): RenderedHost['services'] {
  const { services } = parseYaml(compose, { version: '1.1' }) as { services: Record<string, ComposeService> };
  const contents = new Map(files.map(({ path, content }) => [path, content.text]));
  contents.set(genesisPath(vars), vars.network.genesis.sha256);
  const hashed = (name: ServiceName): RenderedService | undefined => {
    const service = services[name];
    if (!service) return undefined;
    const { [configHashLabel]: _, ...labels } = service.labels ?? {};
    const mounts = (service.volumes ?? [])
      .map((volume) => volume.split(':'))
      .filter(([path = '']) => contents.has(path));
    const mounted = mounts.map(([path = '']) => contents.get(path));
    const configHash = createHash('sha256')
      .update(JSON.stringify([{ ...service, labels }, mounted]))
      .digest('hex');
    // Init scripts are read on the first start alone.
    const readsAtStart = mounts.flatMap(([path = '', target = '']) => (target.startsWith(initScripts) ? [] : path));
    return { configHash, image: service.image, readsAtStart };
  };
  return {
    'state-db': hashed('state-db'),
    'pool-db': hashed('pool-db'),
    prover: hashed('prover'),
    sync: hashed('sync'),
    'json-rpc': hashed('json-rpc'),
  };
}
