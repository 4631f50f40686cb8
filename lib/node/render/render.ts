import toml from '@iarna/toml';
import { parse as parseYaml } from 'yaml';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import type { ImagePin } from '../../engine/resource/docker/docker-image.ts';
import { type Content, sha256Of } from '../../engine/resource/file/content.ts';
import type { ReleaseContent } from '../../engine/resource/role.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import { maskedContent } from '../../engine/template/mask.ts';
import { type Override, withOverrides } from '../../engine/template/override.ts';
import { renderTemplate, type Values } from '../../engine/template/template.ts';
import type { FileName } from '../variables/generation.ts';
import { replicaOf } from '../variables/hosts.ts';
import { isWithoutNode } from '../variables/monitoring.ts';
import { type ServiceName, serviceNames } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';
import { type ComposePort, type PublishedPort, publishedPort } from './compose-ports.ts';
import { overridesFor } from './overrides/overrides.ts';
import { isPort } from './overrides/values.ts';
import type { RenderContext } from './render-context.ts';
import { composeTemplateOf, templateOf } from './templates.ts';
import { valuesByPath, valuesFor } from './values.ts';

export interface RenderedFile {
  readonly name: FileName;
  /** Path on the host. */
  readonly path: string;
  readonly content: Content;
  /** Permission bits. */
  readonly mode: number;
  /** Name or number. */
  readonly group: string;
}

interface RenderedService {
  /**
   * Changes with the service's definition and with any file mounted into it. It is also the
   * container's label.
   */
  readonly configHash: string;
  /**
   * Labels of the same container: as earlier versions of this program made them, over the passwords
   * too, with those of the inventory or those before a rotation.
   */
  readonly earlierHashes: readonly string[];
  readonly image: string;
  /** The rendered files that the container mounts and reads at each start. */
  readonly readsAtStart: readonly string[];
  /** Of a release: the image that the name has to mean. */
  readonly pin?: ImagePin;
}

/** A network of a Compose file. */
export interface ContainerNetwork {
  /** As Docker shows it. */
  readonly name: string;
  /** Of `container_subnet`; undefined where Docker chooses. */
  readonly subnet: string | undefined;
}

/** The label of a network whose subnet is of the inventory. */
export const subnetLabel = 'rpc-playbooks.subnet';

export interface RenderedHost {
  readonly files: readonly RenderedFile[];
  /** undefined for a service that the host does not run. */
  readonly services: Readonly<Record<ServiceName, RenderedService | undefined>>;
  /** Every port that the host's Compose file publishes. */
  readonly ports: readonly PublishedPort[];
  /** The Docker networks of its containers. */
  readonly networks: readonly ContainerNetwork[];
  /** TCP ports on which the programs listen inside their containers, from their configuration. */
  readonly listens: Readonly<Record<'prover' | 'json-rpc' | 'sync', readonly number[]>>;
  /** What the node serves besides JSON-RPC over HTTP, from its configuration and its command. */
  readonly serves: ReturnType<typeof nodeServes>;
  /** The largest limit of open files in the Compose file (`ulimits`); 0 where there is none. */
  readonly openFiles: number;
}

/** Path of the checked genesis file, which the node's containers mount. */
export function genesisPath(vars: Pick<Variables, 'paths'>): string {
  return `${vars.paths.deployment}/genesis.json`;
}

/** Several roles need the files of the same host: the same input is rendered once. */
const rendered = new WeakMap<
  Variables,
  Omit<RenderContext, 'vars'> & { readonly result: Promise<RenderedHost> }
>();

/**
 * Renders all files of one host: its Compose file and the files that its containers mount (spec
 * part 2), and on the Database+Sync server the prover database's init script and the restore
 * tool's configuration. A release has its own texts in place of these. Nothing is read from any
 * host.
 *
 * @throws Problem or Problems from a template, Problem for a port that Compose leaves open
 */
export function renderHost(context: RenderContext): Promise<RenderedHost> {
  const { host, vars, hosts, release } = context;
  const known = rendered.get(vars);
  if (known && known.host === host && known.hosts === hosts && known.release === release) return known.result;
  const result = renderAll(context).then((own) => (release ? withRelease(own, vars, release) : own));
  rendered.set(vars, { host, hosts, ...(release && { release }), result });
  return result;
}

/** A gateway alone or a monitor runs no container. */
const nothing: RenderedHost = {
  files: [],
  services: Object.fromEntries(serviceNames.map((name) => [name, undefined])) as RenderedHost['services'],
  ports: [],
  networks: [],
  listens: { prover: [], 'json-rpc': [], sync: [] },
  serves: { namespaces: [], webSockets: false, metrics: false },
  openFiles: 0,
};

async function renderAll(context: RenderContext): Promise<RenderedHost> {
  const { host, vars } = context;
  if (isWithoutNode(host)) return nothing;
  const isDatabase = host.groups.includes('database');
  const isReplica = host.groups.includes('replica');
  const values = valuesFor(context);
  const file = (name: FileName, ports: Values, more: readonly Override[] = []) =>
    renderedFile(name, render(vars, name, { ...values, ...ports }, more), vars);

  // The node's file has the prover's ports. The Compose file has both programs' ports, if they are
  // enabled, from their configuration.
  const readOnly = replicaOf(context.hosts, host) ? [{ path: ['dbReadOnly'], value: true }] : [];
  const prover = file('prover.config.json', {}, readOnly);
  const proverPorts = listenersIn(JSON.parse(prover.content.text), 'prover_config');
  const node = file('node.config.toml', proverPorts);
  const nodeConfig = toml.parse(node.content.text);
  const inside = { ...proverPorts, ...listenersIn(nodeConfig, 'node_config') };
  const initScript = isDatabase || isReplica ? [file('init_prover_db.sql', inside)] : [];
  const restore = isDatabase ? [file('snapshot_restore.toml', inside)] : [];
  const mounted = [...initScript, ...(isReplica ? [] : [node, prover]), ...restore];

  const template = composeTemplateOf(vars.generation, host.groups);
  const composeWith = (services?: RenderedHost['services']) => {
    const hashes = serviceNames.map((name) => [`config_hash.${name}`, services?.[name]?.configHash ?? '']);
    return renderTemplate(
      template.text,
      { ...values, ...inside, ...Object.fromEntries(hashes) },
      template.source,
    );
  };
  const composed = composeFileIn(composeWith().text);
  const services = hashedServices(composed, mounted, vars);
  const files = [renderedFile('docker-compose.yml', composeWith(services), vars), ...mounted];
  return renderedHost(files, composed, services, nodeConfig, inside);
}

/** What follows from the texts of the files. */
function renderedHost(
  files: readonly RenderedFile[],
  composed: ComposeFile,
  services: RenderedHost['services'],
  nodeConfig: unknown,
  inside: Values,
): RenderedHost {
  const port = (name: string) => Number(inside[name]);
  return {
    files,
    services,
    ports: Object.entries(composed.services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => publishedPort(name, port)),
    ),
    networks: networksIn(composed),
    listens: {
      prover: [port('prover_config.hashDBServerPort'), port('prover_config.executorServerPort')],
      'json-rpc': [port('node_config.RPC.Port')],
      sync: inside['node_config.Metrics.Enabled'] ? [port('node_config.Metrics.Port')] : [],
    },
    serves: nodeServes(nodeConfig, composed.services['json-rpc']?.command),
    openFiles: Math.max(0, ...Object.values(composed.services).map(openFilesOf)),
  };
}

/**
 * @returns the largest limit of open files that a container gets, or 0 where the engine decides
 */
function openFilesOf({ ulimits: { nofile = 0 } = {} }: ComposeService): number {
  return typeof nofile === 'number' ? nofile : Math.max(nofile.soft, nofile.hard);
}

function networksIn({ networks = {} }: ComposeFile): ContainerNetwork[] {
  return Object.values(networks).flatMap((network) =>
    network?.name === undefined ? [] : { name: network.name, subnet: network.labels?.[subnetLabel] },
  );
}

function composeFileIn(text: string): ComposeFile {
  return parseYaml(text, { version: '1.1' });
}

/** The services of a Compose file. */
export function servicesIn(composeFile: string): ComposeServices {
  return composeFileIn(composeFile).services;
}

/** A host with the texts and images of a release. */
function withRelease(own: RenderedHost, vars: Variables, { texts, pins }: ReleaseContent): RenderedHost {
  const files = own.files.map((file) => {
    const text = texts.get(file.name) ?? file.content.text;
    return { ...file, content: { ...file.content, text } };
  });
  const textOf = (name: FileName) => files.find((file) => file.name === name)?.content.text ?? '';
  const composed = composeFileIn(textOf('docker-compose.yml'));
  const hashed = Object.entries(hashedServices(composed, files, vars)).map(([name, service]) => {
    const pin = pins.get(name);
    const configHash = composed.services[name]?.labels?.[configHashLabel];
    if (!service) return [name, undefined];
    // A release of an earlier version of this program has its label.
    const earlierHashes =
      service.earlierHashes.length > 0 ? [...service.earlierHashes, service.configHash] : [];
    return [name, { ...service, earlierHashes, ...(configHash && { configHash }), ...(pin && { pin }) }];
  });
  const nodeConfig = toml.parse(textOf('node.config.toml'));
  const inside = {
    ...listenersIn(JSON.parse(textOf('prover.config.json')), 'prover_config'),
    ...listenersIn(nodeConfig, 'node_config'),
  };
  return renderedHost(files, composed, Object.fromEntries(hashed), nodeConfig, inside);
}

/** The namespaces that the node serves without `--http.api`. */
const defaultNamespaces = 'eth,net,web3,zkevm,txpool';

function nodeServes(config: unknown, command: ComposeService['command']) {
  const { RPC, Metrics } = config as {
    readonly RPC?: { readonly WebSockets?: { readonly Enabled?: unknown } };
    readonly Metrics?: { readonly Enabled?: unknown };
  };
  const text = typeof command === 'string' ? command : (command ?? []).join(' ');
  const [, named = defaultNamespaces] = /\s--http\.api[\s=]+(\S+)/.exec(text) ?? [];
  return {
    /** Namespaces of JSON-RPC (`--http.api`); empty on a host without json-rpc. */
    namespaces: command === undefined ? [] : named.split(','),
    webSockets: RPC?.WebSockets?.Enabled === true,
    metrics: Metrics?.Enabled === true,
  };
}

/** The ports of a configuration, and what is enabled in it. */
function listenersIn(configuration: unknown, name: string): Values {
  const all = Object.entries(valuesByPath(configuration, [name]));
  return Object.fromEntries(all.filter(([key, value]) => isPort(key) || typeof value === 'boolean'));
}

/**
 * @param more overrides, as no inventory may say otherwise
 */
function render(vars: Variables, name: FileName, values: Values, more: readonly Override[]): Content {
  const { text, source } = templateOf(vars.generation, name);
  const content = renderTemplate(text, values, source);
  const isMore = ({ path }: Override) => more.some((each) => each.path.join() === path.join());
  const overrides = [...overridesFor(vars, name).filter((each) => !isMore(each)), ...more];
  return overrides.length === 0
    ? content
    : maskedContent(withOverrides(content.text, source, overrides), source.format, content.holdsSecrets);
}

function renderedFile(name: FileName, content: Content, vars: Variables): RenderedFile {
  const path = `${vars.paths.deployment}/${name}`;
  // The image runs init scripts as postgres, not as root. Only root may enter the folder itself.
  if (name === 'init_prover_db.sql')
    return { name, path, content, mode: 0o640, group: String(vars.state_db.group_id) };
  return { name, path, content, mode: 0o600, group: 'root' };
}

interface ComposeService {
  readonly image: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly ComposePort[];
  readonly command?: string | readonly string[];
  readonly ulimits?: { readonly nofile?: number | { readonly soft: number; readonly hard: number } };
}

type ComposeServices = Readonly<Record<string, ComposeService>>;

interface NetworkDefinition {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

interface ComposeFile {
  readonly services: ComposeServices;
  readonly networks?: Readonly<Record<string, NetworkDefinition | null>>;
}

/** A text with others in place of the databases' passwords; those without another one stay. */
function withPasswords(
  text: string,
  { credentials }: Variables,
  other: (password: Secret) => string | undefined,
): string {
  const passwords = Object.values(credentials).map(({ password }) => password);
  return passwords.reduce((changed, password) => {
    const value = password.reveal();
    return changed.replaceAll(value, other(password) ?? value);
  }, text);
}

/** The database image runs these on its first start only. */
const initScripts = '/docker-entrypoint-initdb.d/';

/**
 * The hash is over the service's definition without its label, over the rendered files and the
 * genesis file that it mounts, and over the subnet of the inventory: no container outlives its
 * network. It is not over the passwords of a database container: its image reads them once, on an
 * empty data directory, so that a changed one needs no restart.
 */
function hashedServices(composed: ComposeFile, files: readonly RenderedFile[], vars: Variables) {
  const contents = new Map(files.map(({ path, content }) => [path, content.text]));
  contents.set(genesisPath(vars), vars.network.genesis.sha256);
  const subnets = networksIn(composed).flatMap(({ subnet }) => subnet ?? []);
  const hashed = (name: ServiceName, service: ComposeService): RenderedService => {
    const { [configHashLabel]: _, ...labels } = service.labels ?? {};
    const mounts = (service.volumes ?? [])
      .map((volume) => volume.split(':'))
      .filter(([path = '']) => contents.has(path));
    const texts = mounts.map(([path = '']) => contents.get(path));
    const definition = JSON.stringify([{ ...service, labels }, texts, ...subnets]);
    const isDatabase = name === 'state-db' || name === 'pool-db';
    return {
      configHash: sha256Of(isDatabase ? withPasswords(definition, vars, () => '') : definition),
      earlierHashes: isDatabase
        ? [definition, withPasswords(definition, vars, ({ former }) => former?.reveal())].map(sha256Of)
        : [],
      image: service.image,
      readsAtStart: mounts.flatMap(([path = '', target = '']) =>
        target.startsWith(initScripts) ? [] : path,
      ),
    };
  };
  const { services } = composed;
  const found = serviceNames.map((name) => [name, services[name] && hashed(name, services[name])]);
  return Object.fromEntries(found) as RenderedHost['services'];
}
