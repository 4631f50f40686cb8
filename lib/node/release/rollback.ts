import { basename } from 'node:path/posix';
import { isDeepStrictEqual } from 'node:util';
import type { Reader } from '../../engine/host/host.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { Failure } from '../../engine/problem/problem.ts';
import { sha256Of } from '../../engine/resource/file/content.ts';
import type { ReleaseContent } from '../../engine/resource/role.ts';
import { stateDatabase } from '../databases/databases.ts';
import { renderHost, servicesIn } from '../render/render.ts';
import { versionOf } from '../variables/generation.ts';
import { databaseHost } from '../variables/hosts.ts';
import { serviceNames } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';
import { migrationsHint } from '../version/known-migrations.ts';
import { isDeployed, keptAt, type Release, readDeployed, readReleases } from './manifest.ts';

type Host = InventoryHost<Variables>;

/** What `putBack` is asked for. */
export interface PutBack {
  readonly host: Host;
  /** All hosts of the inventory. */
  readonly hosts: readonly Host[];
  /** Of `host`. */
  readonly reader: Reader;
  /** Reads the Database+Sync server, for another host. */
  readonly onDatabase: <T>(read: (database: Reader) => Promise<T>) => Promise<T>;
  /**
   * Number of the release. Default: the one that served before the current one; where another
   * state is deployed, the current one.
   */
  readonly to?: number | 'current' | undefined;
}

/** A host as one of its releases has it. */
export interface Released {
  /** With the images of the release in its variables. */
  readonly host: Host;
  readonly release: ReleaseContent;
}

/**
 * A host as one of its releases has it: with that release's files and images. The roles that
 * deploy it put the release back.
 *
 * @throws Problem with the reason why the release cannot be put back
 */
export async function putBack(asked: PutBack): Promise<Released> {
  const { host, reader } = asked;
  const releases = await readReleases(reader);
  const release = await choose(asked, releases);
  const texts = await textsOf(reader, release);
  const composed = servicesIn(texts.get('docker-compose.yml') ?? '');
  // First: what another version of the node has otherwise must not look like something that a
  // deploy puts back.
  await refuseMigrations(asked, release);
  await refuseOtherSettings(asked, release, composed, texts);
  const imageOf = (...containers: readonly string[]) =>
    release.images.find(({ container }) => containers.includes(container))?.name;
  const { node, prover, database } = host.vars.images;
  const images = {
    node: imageOf('sync', 'json-rpc') ?? node,
    prover: imageOf('prover') ?? prover,
    database: imageOf('pool-db') ?? database,
  };
  // Containers of one name get one image.
  const first = (name: string) => release.images.find((image) => image.name === name);
  const pins = new Map(release.images.flatMap(({ container, name }) => [[container, first(name)]] as const));
  return { host: { ...host, vars: { ...host.vars, images } }, release: { texts, pins } };
}

async function choose({ host, hosts, reader, to }: PutBack, releases: readonly Release[]): Promise<Release> {
  const { name, vars } = host;
  if (typeof to === 'number') {
    const there = releases.map(({ number }) => number).join(', ') || 'none';
    return (
      releases.find(({ number }) => number === to) ?? refuse(`${name} has no release ${to}; it has: ${there}`)
    );
  }
  const { files, services } = await renderHost({ host, vars, hosts });
  const current = releases.find(({ isCurrent }) => isCurrent);
  if (!current) return refuse(`${name} has no release`, 'a deploy keeps one when all its checks are ok');
  const containers = serviceNames.filter((service) => services[service]);
  const paths = files.map(({ path }) => path);
  // A deploy that failed has changed something, and no release has that.
  if (to === 'current' || !isDeployed(current, await readDeployed(reader, paths, containers))) return current;
  const before = releases.find(({ isPrevious }) => isPrevious);
  return before ?? refuse(`${name} has no release before ${current.number}, which is deployed`);
}

/** The files of a release, by name. */
async function textsOf(reader: Reader, release: Release): Promise<ReadonlyMap<string, string>> {
  const paths = [...release.files.keys()];
  const contents = await Promise.all(paths.map((path) => reader.read(keptAt(release, path))));
  const texts = paths.map((path, at) => {
    const content = contents[at];
    if (content && sha256Of(content) === release.files.get(path))
      return [basename(path), content.toString()] as const;
    return refuse(
      `release ${release.number} is damaged: ${keptAt(release, path)} is not as it was kept`,
      'choose another: --to NUMBER',
    );
  });
  return new Map(texts);
}

/** Firewall, folders and passwords follow the inventory, and no release has them. */
async function refuseOtherSettings(
  { host, hosts }: PutBack,
  { number }: Release,
  composed: ReturnType<typeof servicesIn>,
  texts: ReadonlyMap<string, string>,
): Promise<void> {
  const { files } = await renderHost({ host, vars: host.vars, hosts });
  const wanted = servicesIn(files.find(({ name }) => name === 'docker-compose.yml')?.content.text ?? '');
  const because = (what: string) => {
    const hint = 'a rollback changes files and images only: put that back in the inventory, then deploy';
    return refuse(`release ${number} of ${host.name} has ${what} than the inventory`, hint);
  };
  for (const name of serviceNames) {
    const [was, now] = [composed[name], wanted[name]];
    if (!was !== !now) because(`other services (${name})`);
    if (!isDeepStrictEqual(was?.ports, now?.ports)) because(`other ports of ${name}`);
    if (!isDeepStrictEqual(was?.volumes, now?.volumes)) because(`other folders of ${name}`);
    const isNode = name === 'sync' || name === 'json-rpc';
    if (isNode && was?.command?.[0] !== now?.command?.[0]) because('another generation of the node');
  }
  const server = databaseHost(hosts).connection.address;
  const now = files.find(({ name }) => name === 'node.config.toml')?.content.text;
  if (layer1Choice(texts.get('node.config.toml'), server) !== layer1Choice(now, server))
    because('another way to layer 1 (network.l1_rpc_urls, ports.layer1)');
  const all = [...texts.values()].join('\n');
  for (const [store, { password }] of Object.entries(host.vars.credentials))
    if (!all.includes(password.reveal())) because(`another password of the ${store} database`);
}

/**
 * The address of the HAProxy that chooses the provider of layer 1, in a configuration of the node.
 *
 * @param server address of the Database+Sync server
 */
function layer1Choice(nodeConfig = '', server: string): string | undefined {
  const urls = [...nodeConfig.matchAll(/^URL = "(http:\/\/([^/"]+):\d+)"$/gm)];
  return urls.find(([, , host]) => host === 'layer1' || host === server || host === `[${server}]`)?.[1];
}

/**
 * json-rpc needs exactly the migrations of its own version, and no version of the node undoes one.
 */
async function refuseMigrations(
  { host, hosts, reader, onDatabase }: PutBack,
  release: Release,
): Promise<void> {
  const name =
    release.images.find(({ container }) => container === 'sync' || container === 'json-rpc')?.name ?? '';
  const server = databaseHost(hosts);
  const isServer = host.name === server.name;
  const read = (db: Reader) =>
    Promise.all([
      db.container('sync'),
      db.sql(stateDatabase(server.vars), 'select count(*) from public.gorp_migrations'),
      readReleases(db),
    ]);
  const [sync, count, releases] = await (isServer ? read(reader) : onDatabase(read));
  if (!isServer && sync?.running && versionOf(sync.image) === versionOf(name)) return;
  const now = count.ok ? Number(count.rows[0]?.[0]) : undefined;
  const ofVersion = isServer
    ? release.migrations
    : releases.find(({ images }) =>
        images.some((image) => image.container === 'sync' && versionOf(image.name) === versionOf(name)),
      )?.migrations;
  if (now !== undefined && now === ofVersion) return;
  const known = (number: number | undefined) => (number === undefined ? 'an unknown number' : String(number));
  refuse(
    `a database migration lies in between: the state database has ${known(now)}, and release ${release.number} of ${host.name} (${versionOf(name)}) needs ${known(ofVersion)}`,
    migrationsHint,
  );
}

function refuse(what: string, hint?: string): never {
  throw new Failure(what, { hint });
}
