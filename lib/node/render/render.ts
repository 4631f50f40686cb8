import { createHash } from 'node:crypto';
import { parse as parseYaml } from 'yaml';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import type { Content } from '../../engine/resource/file/content.ts';
import type { Context } from '../../engine/resource/role.ts';
import { renderWithOverrides } from '../../engine/template/override.ts';
import { renderTemplate, type Values } from '../../engine/template/template.ts';
import type { FileName } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';
import { nodePortsIn, proverPortsIn } from './configured-ports.ts';
import { overridesFor } from './overrides/overrides.ts';
import { templateOf } from './templates.ts';
import { type InsidePorts, valuesFor } from './values.ts';

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
  /** TCP ports on which the programs listen inside their containers, as their configuration says. */
  readonly listens: Readonly<Record<'prover' | 'json-rpc', readonly number[]>>;
}

/** Where the checked genesis file is, from which the node's containers mount it. */
export function genesisPath(vars: Pick<Variables, 'paths'>): string {
  return `${vars.paths.deployment}/genesis.json`;
}

/**
 * Renders all files of one host: its Compose file and what its containers mount (spec part 2), and on the Database+Sync server the
 * prover database's init script and the restore tool's configuration. Nothing is read from any host.
 *
 * @throws Problem or Problems from a template, Problem where the deployment has no database host, or a template lacks a port that
 *   others are told
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
  const templateFile = (name: FileName) => templateOf(vars.generation, name).source.file;
  const render = (name: FileName, inside: InsidePorts) => renderedFile(name, renderOne(context, name, inside), vars);

  // The node is told where the prover listens, and Compose where both do: as their own configuration has it.
  const prover = render('prover.config.json', {});
  const proverPorts = proverPortsIn(prover.content.text, templateFile('prover.config.json'));
  const node = render('node.config.toml', proverPorts);
  const nodePorts = nodePortsIn(node.content.text, templateFile('node.config.toml'));
  const inside = { ...proverPorts, ...nodePorts };
  const mounted = isDatabase
    ? [render('init_prover_db.sql', inside), node, prover, render('snapshot_restore.toml', inside)]
    : [node, prover];

  const template = isDatabase ? 'docker-compose.database.yml' : 'docker-compose.rpc.yml';
  const unlabelled = renderCompose(context, template, inside, () => '');
  const services = hashedServices(unlabelled.text, mounted, vars);
  const compose = renderCompose(context, template, inside, (name) => services[name]?.configHash ?? '');
  return {
    files: [renderedFile('docker-compose.yml', compose, vars), ...mounted],
    services,
    listens: {
      prover: [proverPorts.hashDb, proverPorts.executor],
      'json-rpc': [nodePorts.rpc],
    },
  };
}

function renderOne(context: RenderContext, name: FileName, inside: InsidePorts): Content {
  const { text, source } = templateOf(context.vars.generation, name);
  return renderWithOverrides(text, valuesFor(context, inside), source, overridesFor(context.vars, name));
}

function renderCompose(
  context: RenderContext,
  name: string,
  inside: InsidePorts,
  hashOf: (name: ServiceName) => string,
): Content {
  const { text, source } = templateOf(context.vars.generation, name);
  return renderTemplate(text, { ...valuesFor(context, inside), ...hashValues(hashOf) }, source);
}

/** Where the database image looks for scripts of its first start. */
const initScripts = '/docker-entrypoint-initdb.d/';

const serviceNames: readonly ServiceName[] = ['state-db', 'pool-db', 'prover', 'sync', 'json-rpc'];

function hashValues(hashOf: (name: ServiceName) => string): Values {
  return Object.fromEntries(serviceNames.map((name) => [`${name.replaceAll('-', '_')}_config_hash`, hashOf(name)]));
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
