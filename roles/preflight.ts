import type { Reader } from '../lib/engine/host/host.ts';
import { dockerCanBeUsed } from '../lib/engine/resource/docker/docker-there.ts';
import { drift, expectation, ok, type Resource, type Verdict } from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { skipWhen } from '../lib/engine/resource/skip-when.ts';
import { aptDoesNoHarm } from '../lib/engine/resource/system/packages.ts';
import { answersForChain, downloads, registryAnswers } from '../lib/node/chain/reachable.ts';
import { canHoldDatabase } from '../lib/node/databases/data-place.ts';
import { databasesAcceptLogins } from '../lib/node/databases/log-in.ts';
import { genesisPath, renderHost } from '../lib/node/render/render.ts';
import { dataDisk, whyDatabasesWouldBeLost } from '../lib/node/server/data-disk.ts';
import { dataIsInItsPlace, mountsOutlastReboot } from '../lib/node/server/data-disks.ts';
import { hardwareFindings, requiredCpuFlags } from '../lib/node/server/hardware.ts';
import { containersMayOpen } from '../lib/node/server/open-files.ts';
import { portIsFree } from '../lib/node/server/published-ports.ts';
import { assessDatabases, databasesOf } from '../lib/node/snapshot/database-contents.ts';
import { goHint, goWillBeNewEnough } from '../lib/node/snapshot/go.ts';
import { restoreToolIsBuilt } from '../lib/node/snapshot/restore-tool.ts';
import { archivesOf } from '../lib/node/snapshot/snapshot.ts';
import { repositoryHas } from '../lib/node/snapshot/source-ref.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { packagesOfRoles } from './packages.ts';

type Deployment = Context<Variables>;

/** Requirements that only the operator can meet, checked before anything changes. Nothing here changes a host. */
export default role<Variables>('preflight', async (context) => [
  dataIsInItsPlace(context),
  mountsOutlastReboot(context),
  ...system(context),
  ...hardware(context),
  ...software(context),
  lastingDisk(context),
  ...dataDirectories(context),
  ...(await ports(context)),
  ...(await openFiles(context)),
  ...region(context),
  ...addresses(context),
  ...restoreToolCanBeBuilt(context),
  ...imagesArePinned(context),
  // A replica has the logins of the server that it follows.
  ...(isReplica(context) ? [] : [databasesAcceptLogins(context, (await renderHost(context)).services)]),
]);

/** It runs neither prover nor node, and pulls the image of the database alone. */
const isReplica = ({ host }: Pick<Deployment, 'host'>) => host.groups.includes('replica');

/** Supported and tested. */
const distributions = ['debian 12', 'debian 13', 'ubuntu 22.04', 'ubuntu 24.04'];

/** An expectation on facts and inventory. */
function known(
  name: string,
  verdict: Verdict,
  options: Omit<Parameters<typeof expectation>[1], 'check'> = {},
): Resource {
  return expectation(name, { check: async () => verdict, ...options });
}

function system(context: Deployment): Resource[] {
  const { facts } = context;
  const { id, version, title } = facts.distribution;
  return [
    known(
      'distribution is Debian 12 or 13, or Ubuntu 22.04 or 24.04',
      distributions.includes(`${id} ${version}`) ? ok : drift(`it is ${title || 'unknown'}`),
      { hint: 'install one of these on the host' },
    ),
    known('processor is x86_64', facts.architecture === 'x86_64' ? ok : drift(`it is ${facts.architecture}`), {
      hint: 'the images of the node and the prover are for x86_64 only',
    }),
    known('systemd is the first process', facts.systemd ? ok : drift('it is not'), {
      hint: 'the deployment needs systemd units: use a host that boots with systemd',
    }),
    clock(context),
    ...(isReplica(context) ? [] : requiredCpuFlags).map((flag) =>
      known(
        `processor has ${flag}`,
        facts.cpu.flags.includes(flag) ? ok : drift(`${facts.cpu.model || 'it'} has no ${flag}`),
        {
          hint: 'the prover crashes at its start without it; on a virtual machine, pass through the processor of its host',
        },
      ),
    ),
  ];
}

/** time-sync fixes small differences. With hours of difference, packages and certificates are not valid. Seconds. */
const largestOffset = 3600;

function clock({ facts: { clockOffset }, host }: Deployment): Resource {
  const hours = (Math.abs(clockOffset) / 3600).toFixed(1);
  const seen = `it is ${hours} h ${clockOffset < 0 ? 'behind' : 'ahead of'} this machine's`;
  return known('clock is right to the hour', Math.abs(clockOffset) <= largestOffset ? ok : drift(seen), {
    hint: `set it once, role time-sync then keeps it: ssh ${host.connection.address} sudo date -u -s @$(date +%s)`,
  });
}

/** Required on the main network and advice on the test network, unless the inventory says otherwise. */
function hardware({ facts, vars }: Deployment): Resource[] {
  const strictness = vars.hardware ?? (vars.network.kind === 'main' ? 'required' : 'advisory');
  const nevertheless = 'to deploy nevertheless, set hardware: advisory in the inventory';
  return [...hardwareFindings(facts), dataDisk(facts, vars)].map(({ wanted, seen, met, hint }) =>
    known(
      `server has ${wanted}`,
      met ? ok : drift(`it has ${seen}`),
      strictness === 'required'
        ? { hint: hint === undefined ? nevertheless : `${hint}; ${nevertheless}` }
        : { severity: 'should', ...(hint !== undefined && { hint }) },
    ),
  );
}

/** Beside what the deployment installs. */
function software(context: Deployment): Resource[] {
  const packages = packagesOfRoles(context);
  return [dockerCanBeUsed(), ...(packages ? [aptDoesNoHarm(packages)] : [])];
}

/** A cloud's temporary disk is often the largest one, and empty after the server was stopped. */
function lastingDisk({ facts, vars }: Deployment): Resource {
  const why = whyDatabasesWouldBeLost(facts, vars);
  return known('the databases are on a disk that keeps them', why === undefined ? ok : drift(why), {
    hint: 'mount a lasting disk, and set paths.data to a folder on it. Where all databases may be lost, set paths.temporary_disk: true',
  });
}

function dataDirectories({ host, vars }: Deployment): Resource[] {
  const pool = host.groups.includes('rpc') ? ['pool-db'] : [];
  const server = host.groups.some((group) => group === 'database' || group === 'replica') ? ['state-db'] : [];
  return [...server, ...pool].map((name) => canHoldDatabase(`${vars.paths.data}/${name}`));
}

async function ports(context: Deployment): Promise<Resource[]> {
  const tcp = (await renderHost(context)).ports.filter(({ protocol }) => protocol === 'tcp');
  return tcp.flatMap(({ service, published }) => {
    const [first = 0, last = first] = published.split(':').map(Number);
    const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    return numbers.map((port) =>
      expectation(`port ${port} is free for ${service}`, {
        check: (reader) => portIsFree(reader, { port, container: service }),
        hint: `stop what holds it (ss -lntp "sport = :${port}"), or choose another port in the inventory`,
      }),
    );
  });
}

async function openFiles(context: Deployment): Promise<Resource[]> {
  const { openFiles: wanted } = await renderHost(context);
  return wanted === 0 ? [] : [containersMayOpen(wanted)];
}

/** A wish of the test network: the inventory's own checks hold the rule of the main network. */
function region({ host, vars: { network, region: own } }: Deployment): Resource[] {
  if (!host.groups.includes('database') || network.kind === 'main' || network.region === undefined) return [];
  const same = own?.toLowerCase() === network.region.toLowerCase();
  return [
    known(
      `Database+Sync server is in region ${network.region}`,
      same ? ok : drift(own === undefined ? 'the inventory does not name its region' : `it is in ${own}`),
      { severity: 'should', hint: 'set its region in the inventory: region' },
    ),
  ];
}

/** Every address outside that this host needs. It does not need again what it has already downloaded. */
function addresses({ host, vars }: Deployment): Resource[] {
  if (isReplica({ host })) return registriesAnswer(vars, [vars.images.database]);
  const { trusted_sequencer_url, l1_rpc_url, genesis, chain_id, l2_chain_id } = vars.network;
  const common = [
    expectation('trusted sequencer answers', {
      check: (reader) => answersForChain(reader, trusted_sequencer_url, l2_chain_id),
      hint: 'check network.trusted_sequencer_url and network.l2_chain_id in the inventory, and the firewall of this host',
    }),
    expectation('layer 1 answers', {
      check: (reader) => answersForChain(reader, l1_rpc_url, chain_id),
      hint: 'check network.l1_rpc_url and network.chain_id in the inventory: the node ends at its start when layer 1 does not answer, and with another chain it drops its blocks of layer 1',
    }),
    skipWhen(
      goal(async (reader) => (await reader.sha256(genesisPath(vars))) === genesis.sha256),
      expectation('genesis file can be downloaded', {
        check: (reader) => downloads(reader, genesis.url),
        hint: 'check network.genesis.url in the inventory',
      }),
    ),
    ...registriesAnswer(vars, [vars.images.node, vars.images.prover, vars.images.database]),
  ];
  return host.groups.includes('database') ? [...common, ...snapshotAddresses(vars)] : common;
}

/**
 * @param images those that the host needs
 */
function registriesAnswer(vars: Variables, images: readonly string[]): Resource[] {
  return registries(vars, images).map(({ name, url, images: ofRegistry }) =>
    skipWhen(
      goal((reader) => imagesAreThere(reader, ofRegistry)),
      expectation(`image registry ${name} answers`, {
        check: (reader) => registryAnswers(reader, url),
        hint: 'check images and registry in the inventory',
      }),
    ),
  );
}

function goal(isReached: (reader: Reader) => Promise<boolean>): Pick<Resource, 'check'> {
  return { check: async (reader) => ((await isReached(reader)) ? ok : drift([])) };
}

/** A Go that is too old would otherwise fail only after the databases have started. */
function restoreToolCanBeBuilt({ host, vars, facts }: Deployment): Resource[] {
  const { restore_with, source } = vars.snapshot;
  if (restore_with !== 'source' || source === undefined || !host.groups.includes('database')) return [];
  const wanted = source.go_version;
  return [
    expectation(`Go ${wanted} or later is available for the restore tool`, {
      check: (reader) => goWillBeNewEnough(reader, facts.distribution, wanted),
      hint: goHint(wanted),
    }),
  ].map((resource) => skipWhen(nothingIsRestored(vars), resource));
}

/**
 * This run restores no snapshot: by what both databases hold, which archives the inventory names, and whether it may replace data. Role
 * snapshot decides by the same. A database server that has its files and does not run is started first: a deploy has to be able to do
 * that when the archives are long gone, and before role snapshot downloads anything it asks for the archives itself.
 */
function nothingIsRestored(vars: Variables): Pick<Resource, 'check'> {
  const { replace_existing } = vars.snapshot;
  return goal(async (reader) => {
    const [{ decision }, files] = await Promise.all([
      assessDatabases(reader, databasesOf(vars), replace_existing),
      reader.stat(`${vars.paths.data}/state-db/PG_VERSION`),
    ]);
    return decision === 'keep' || (decision === 'wait' && files !== undefined && !replace_existing);
  });
}

function snapshotAddresses(vars: Variables): Resource[] {
  const archives = archivesOf(vars);
  const { restore_with, source } = vars.snapshot;
  const built = restore_with === 'source' ? source : undefined;
  return [
    ...[archives.state, archives.prover].map(({ store, url }) =>
      expectation(`${store} snapshot can be downloaded`, {
        check: (reader) => downloads(reader, url),
        hint: `check snapshot.${store}.url in the inventory`,
      }),
    ),
    ...(built === undefined ? [] : repositoryHasTheSource(vars, built)),
  ].map((resource) => skipWhen(nothingIsRestored(vars), resource));
}

function repositoryHasTheSource(vars: Variables, source: NonNullable<Variables['snapshot']['source']>): Resource[] {
  const { repository, ref } = source;
  return [
    expectation('source repository of the node answers', {
      check: (reader) => downloads(reader, gitAddress(repository)),
      hint: 'check snapshot.source.repository in the inventory, or set snapshot.restore_with: image',
    }),
    expectation(`source repository of the node has ${ref}`, {
      check: (reader) => repositoryHas(reader, repository, ref),
      hint: 'name a tag or a commit of the node in snapshot.source.ref, or set snapshot.restore_with: image',
    }),
  ].map((resource) => skipWhen({ check: restoreToolIsBuilt(vars, source) }, resource));
}

/** The first address that git requests. `user@host:path` is git's short form of an ssh address; a plain path is on the host. */
function gitAddress(repository: string): string {
  if (/^https?:/.test(repository)) return `${repository.replace(/\/$/, '')}/info/refs?service=git-upload-pack`;
  const [, short] = /^(?:[^@/]+@)?([^:/]+):(?!\/\/)/.exec(repository) ?? [];
  return short === undefined ? repository : `ssh://${short}`;
}

/** A tag can get another image in its registry, and hosts that are deployed at different times would differ. */
function imagesArePinned({ vars: { network, images } }: Deployment): Resource[] {
  if (network.kind !== 'main') return [];
  const open = Object.entries(images).flatMap(([name, image]) => (image.includes('@') ? [] : [`images.${name}`]));
  return [
    known('images are pinned by digest', open.length === 0 ? ok : drift(`not pinned: ${open.join(', ')}`), {
      severity: 'should',
      hint: 'write name:tag@sha256:…; on a host that has it, docker image inspect shows it in RepoDigests',
    }),
  ];
}

/** The registries that image names contain; the engine's default registry is not checked. */
function registries(
  { registry }: Variables,
  names: readonly string[],
): { name: string; url: string; images: string[] }[] {
  const named = names.flatMap((image) => {
    const [first = '', ...rest] = image.split('/');
    // The first part of an image's name is a registry, or a user of the default registry.
    return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost') ? [first] : [];
  });
  const all = new Set([...(registry ? [registry.address] : []), ...named]);
  return [...all].map((name) => {
    const scheme = registry?.insecure && registry.address === name ? 'http' : 'https';
    return {
      name,
      url: `${scheme}://${apiOf(name)}/v2/`,
      images: names.filter((image) => image.startsWith(`${name}/`)),
    };
  });
}

/** Docker Hub has two names in image names, and its API has another. */
function apiOf(registry: string): string {
  return ['docker.io', 'index.docker.io'].includes(registry) ? 'registry-1.docker.io' : registry;
}

async function imagesAreThere(reader: Reader, images: readonly string[]): Promise<boolean> {
  if (images.length === 0) return false;
  return (await reader.$`systemctl is-active --quiet docker.service && docker image inspect ${images}`).ok;
}
