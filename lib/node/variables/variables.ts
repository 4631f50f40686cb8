import * as z from 'zod';
import { addressSchema, portSchema as port, secretReferenceSchema } from '../../engine/inventory/schema.ts';
import { secretReferenceKinds } from '../../engine/inventory/secret-reference.ts';
import { mostDownloadConnections } from '../../engine/resource/download/download-script.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import { fieldsOf } from '../../engine/text/keys.ts';
import type { DnsAccess } from './acme.ts';
import { backupSchema } from './backup.ts';
import { gatewaySchema, movedGatewayKeys } from './gateway.ts';
import { type Generation, generationNames, generations, postgresVersion } from './generation.ts';
import type { PhysicalManifest } from './manifest.ts';
import { monitoringShape } from './monitoring-schema.ts';
import { isOfStorage, orInStorage, type Storage, s3Schema } from './s3.ts';
import * as types from './value-types.ts';

/** A mapping in which every key has a default or is optional. */
function section<S extends z.ZodRawShape>(description: string, shape: S, params?: z.core.$ZodObjectParams) {
  return z
    .strictObject(shape, params)
    .prefault({} as never)
    .describe(description);
}

/** A default of both generations, for a description. */
function byGeneration(get: (generation: Generation) => string | number): string {
  const [current, older] = [get(generations.current), get(generations.older)];
  return current === older ? `${current}` : `${current}, in the older generation ${older}`;
}

function proverSize(key: keyof Generation['prover'], description: string) {
  return types.count
    .optional()
    .describe(`${description}; default: ${byGeneration(({ prover }) => prover[key])}`);
}

/** The keys depend on the generation's templates: the overrides of lib/node/render check them. */
const overrides = z.record(z.string(), z.unknown()).default({});

const network = z
  .strictObject({
    kind: z
      .enum(['main', 'test'])
      .describe(
        'Which of the two networks: decides the snapshot file names and whether missing hardware is an error',
      ),
    region: z
      .string()
      .optional()
      .describe(
        'Region in which the Database+Sync server should be. On the main network it has to be in singapore, and its `region` has to say so; on the test network a server elsewhere is a warning',
      ),
    trusted_sequencer_url: types.url.describe('Layer-2 RPC address of the trusted sequencer'),
    l1_rpc_url: types.url.optional().describe('Layer-1 RPC address; needed without `l1_rpc_urls`'),
    l1_rpc_urls: types.layer1Addresses
      .optional()
      .describe(
        'Layer-1 RPC addresses, the preferred one first, in place of `l1_rpc_url`: HAProxy on the Database+Sync server leaves one that fails, lags or limits requests',
      ),
    chain_id: types.count.describe(
      'Chain id of layer 1, which the genesis file repeats (`l1Config.chainId`)',
    ),
    l2_chain_id: types.count
      .optional()
      .describe(
        'Chain id of layer 2, which the trusted sequencer has to answer; default: it is not compared',
      ),
    genesis: types.download.describe("The network's genesis file, which the node reads"),
  })
  .check(({ value: { l1_rpc_url, l1_rpc_urls }, issues }) => {
    const wrong = (path: string, message: string) =>
      issues.push({ code: 'custom', path: [path], input: l1_rpc_url, message });
    if (l1_rpc_url === undefined && l1_rpc_urls === undefined) {
      wrong('l1_rpc_url', 'is missing\nLayer-1 RPC address, or several in l1_rpc_urls');
    }
    if (l1_rpc_url !== undefined && l1_rpc_urls !== undefined) {
      wrong('l1_rpc_urls', 'stands beside l1_rpc_url\nleave one of the two out');
    }
  });

/** What a manifest has, and an inventory without one. */
const ownArchives = ['state', 'prover', 'date'] as const;

/** An archive of a database, on a web server or in a storage. */
const archive = types.archive.extend({
  url: orInStorage(types.archive.shape.url).describe(
    'Download address, without user name and password; or its name in a storage, s3://bucket/name',
  ),
});

/** `false`, or the authority that signs the certificates of database servers. */
const tls = z.union(
  [
    z.strictObject({
      ca: z
        .string()
        .min(1)
        .meta({ title: 'path' })
        .describe(
          "File with the certificate of the deployment's own authority, in PEM, relative to the file that names it; further ones in it are trusted, too, and sign nothing",
        ),
      key: secretReferenceSchema.describe(
        `Where the private key of the authority is, in PEM, or as one line of base64: ${secretReferenceKinds}`,
      ),
    }),
    z.literal(false),
  ],
  'must be a mapping with ca and key, or false\ndocs/encryption.md says how to make both',
);

const folderOnServer = z
  .string()
  .refine(
    (path) => types.folder.safeParse(path).success,
    'must be a web address, s3://bucket/folder, or a folder of the Database+Sync server: an absolute path of letters, digits, . _ - and /, with no / at its end',
  );

const snapshot = z
  .strictObject({
    manifest: z
      .string()
      .min(1)
      .optional()
      .meta({ title: 'web address, s3://bucket/name or path' })
      .describe(
        'Manifest of a snapshot that playbooks/snapshot.mjs took, in place of state, prover and date: its web address, its name in a storage (s3://bucket/folder/manifest.json), or its path beside the file that names it. One of a physical snapshot has its pieces beside it',
      ),
    from: orInStorage(types.downloadAddress, folderOnServer)
      .optional()
      .describe(
        "Web address of the folder with the manifest's archives or pieces, its name in a storage (s3://bucket/folder), or its path on the Database+Sync server; default: that of the manifest",
      ),
    s3: s3Schema
      .optional()
      .describe('Storage that speaks S3, and the keys for it; needed for addresses s3://bucket/name'),
    state: archive.optional().describe('Archive of the state database (.sql.tar.gz)'),
    prover: archive.optional().describe("Archive of the prover's database (.sql.tar.gz)"),
    date: types.pastDay.optional().describe('Day on which both archives were made, YYYY-MM-DD'),
    connections: types
      .whole(1, mostDownloadConnections)
      .default(1)
      .describe(
        'Parallel connections for the download of each archive; of a physical snapshot, pieces at the same time; into a storage, parts of a file at the same time',
      ),
    replace_existing: z
      .boolean()
      .default(false)
      .describe('Whether a database with other data may be dropped'),
    restore_with: z
      .enum(['image', 'source', 'pg_restore'])
      .default('image')
      .describe(
        "Run the restore tool of the node image, build it from source, or use the host's pg_restore, by several jobs",
      ),
    restore_jobs: types
      .whole(1, 64)
      .optional()
      .describe('Parallel jobs of pg_restore for tables and indexes; default: 4'),
    source: z
      .strictObject({
        repository: types.repository.describe(
          "git address of the node's source, without user name and password",
        ),
        ref: types.gitRef
          .optional()
          .describe('Tag or commit to build; default: v3.1.0, in the older generation v1.0.0'),
        go_version: types.goVersion
          .default('1.21')
          .describe('Lowest version of Go that may build it, in quotes'),
      })
      .optional()
      .describe('Source of the restore tool; needed where restore_with is source'),
  })
  .superRefine(
    (value, { issues }) => {
      // Also where one of them is incomplete, which would not matter then.
      for (const key of ownArchives) {
        if (value[key] === undefined) continue;
        const others = issues.filter(({ path }) => path?.[0] !== key);
        const message = 'has no use: the manifest has it\nleave one of the two out';
        issues.splice(0, issues.length, ...others, { code: 'custom', path: [key], input: value, message });
      }
    },
    { when: ({ value }) => typeof fieldsOf(value).manifest === 'string' },
  )
  .check(({ value, issues }) => {
    const { manifest, from } = value;
    const wrong = (path: string, message: string) =>
      issues.push({ code: 'custom', path: [path], input: value, message });
    const missing = manifest === undefined ? ownArchives.filter((key) => value[key] === undefined) : [];
    for (const key of missing) wrong(key, `is missing\n${ownArchives.join(', ')} are needed, or a manifest`);
    const isWeb = /^(https?|s3):/i.test(manifest ?? '');
    const unfit = isOfStorage(manifest ?? '') && orInStorage(z.string()).safeParse(manifest).error;
    if (unfit) wrong('manifest', unfit.issues[0]?.message ?? '');
    else if (isWeb && !isOfStorage(manifest ?? '') && !types.downloadAddress.safeParse(manifest).success) {
      wrong('manifest', 'must be a web address without user name and password, or a path');
    }
    if (manifest === undefined && from !== undefined) wrong('from', 'has no use without a manifest');
    const query = 'must not have a query: the names of the archives are put behind it';
    if (from?.includes('?')) wrong('from', query);
    else if (isWeb && from === undefined && manifest?.includes('?'))
      wrong('from', 'is missing: the archives would have no query, as the manifest has');
    const isFile = manifest !== undefined && !isWeb;
    if (isFile && from === undefined) wrong('from', 'is missing: the manifest is a file here');
    const stored = [manifest, from, value.state?.url, value.prover?.url].find((each) =>
      isOfStorage(each ?? ''),
    );
    if (stored !== undefined && value.s3 === undefined)
      wrong('s3', `is missing: ${stored} is in a storage, which needs endpoint, access_key and secret_key`);
  })
  .refine(({ restore_with, source }) => restore_with !== 'source' || source !== undefined, {
    path: ['source'],
    error: 'is missing: restore_with is source\nname the repository and ref, or say restore_with: image',
  })
  .refine(({ restore_with, restore_jobs }) => restore_with === 'pg_restore' || restore_jobs === undefined, {
    path: ['restore_jobs'],
    error:
      "needs restore_with: pg_restore\nleave it out, or say restore_with: pg_restore; the node's own tool restores by one job",
  });

/**
 * Variables of a deployment: for all hosts under `vars`, overridden for one host under its own
 * `vars`. The unit of a number is in its description, which is also in the JSON Schema and in the
 * tables of docs/node-variables.md, docs/host-variables.md and docs/gateway-variables.md.
 */
export const variablesSchema = z.strictObject({
  generation: z.enum(generationNames).default('current').describe('Generation of configuration and images'),
  network: network.describe('The network that the node follows'),
  images: z
    .strictObject({
      node: types.image.describe(`Node image; default tag: ${byGeneration(({ versions }) => versions.node)}`),
      prover: types.image.describe(
        `Prover image; default tag: ${byGeneration(({ versions }) => versions.prover)}`,
      ),
      database: types.postgresImage
        .default(`postgres:${postgresVersion}`)
        .describe(
          `PostgreSQL image; default tag: ${postgresVersion}. A tag of another version is refused; a digest, or a tag that is not a version, is used as it is`,
        ),
    })
    .describe('Images of the containers'),
  image_keys: z
    .strictObject({
      node: types.publicKey.optional().describe('Key of who signs the node image'),
      prover: types.publicKey.optional().describe('Key of who signs the prover image'),
      database: types.publicKey.optional().describe('Key of who signs the PostgreSQL image'),
    })
    .optional()
    .describe(
      'Public keys of ECDSA P-256 in PEM, as cosign.pub has them; an image with a key needs a digest, and is used only if the key has signed it',
    ),
  registry: z
    .strictObject({
      insecure: z.boolean().default(false).describe('Whether the registry speaks plain HTTP'),
      address: types.registryAddress.describe('Host name or IP address of the registry, with its port'),
    })
    .optional()
    .describe('A private registry that the Docker engine has to trust'),
  node_binary: types.absolutePath
    .optional()
    .describe(
      `Path of the node binary in its image; default: ${byGeneration(({ nodeBinary }) => nodeBinary)}`,
    ),
  credentials: z
    .strictObject({
      state: types.credentials.describe('For the state database; the same on every host'),
      pool: types.credentials.describe('For the transaction pool, of which every server has its own'),
      prover: types.credentials.describe(
        "For the prover's database, on the same server; the same on every host",
      ),
    })
    .refine(({ state, prover }) => state.database !== prover.database, {
      path: ['prover', 'database'],
      error: 'is the state database: the prover needs one of its own',
    })
    .refine(({ state, prover }) => state.user !== prover.user, {
      path: ['prover', 'user'],
      error: "is the state database's user: the init script creates another",
    })
    .describe('Users, passwords and names of the databases, for all files that need them'),
  paths: section('Folders on the host', {
    deployment: types.ownFolder.default('/opt/rpc-node').describe('Folder of the rendered files'),
    data: types.ownFolder
      .default('/data')
      .describe(
        'Folder of databases and snapshots, wherever docker_root is: it belongs on the large disk, too',
      ),
    temporary_disk: z
      .boolean()
      .default(false)
      .describe(
        'Whether `data` may be on a temporary disk of a cloud, or in memory: all databases are lost when the server is stopped, resized or moved',
      ),
  }).refine(({ data, deployment }) => !`${data}/`.startsWith(`${deployment}/`), {
    path: ['data'],
    error: 'must be outside of paths.deployment: passwords are there, and only root may enter it',
  }),
  ports: section('TCP ports published on the host', {
    state_db: port.default(5432).describe('State database, on the Database+Sync server, for all hosts'),
    pool_db: port.default(5433).describe('Pool database, on every server'),
    prover_hash_db: port.default(50061).describe('Hash database of the prover (gRPC), on every server'),
    prover_executor: port.default(50071).describe('Executor of the prover (gRPC), on every server'),
    sync_metrics: port.default(9091).describe('Metrics of the synchronizer, on the Database+Sync server'),
    rpc_http: port.default(8123).describe('JSON-RPC over HTTP, on the RPC servers'),
    rpc_websocket: port.default(8133).describe('JSON-RPC over WebSocket, on the RPC servers'),
    rpc_metrics: port.default(9092).describe('Metrics of json-rpc, on the RPC servers'),
    layer1: port
      .default(8547)
      .describe(
        'Layer 1 by one of `network.l1_rpc_urls`, on the Database+Sync server, for the nodes of the deployment; unused without them',
      ),
  }),
  state_db: section('Server options of the state database', {
    max_connections: types.connections
      .default(20000)
      .describe(
        'Most connections at a time: more than all provers (prover.pool_connections each) and nodes (2 x node.state_connections each) open',
      ),
    shared_buffers: types.memory('16GB', 'Memory for the shared cache'),
    work_mem: types.memory('32MB', 'Memory for one sort or hash of one query'),
    wal_buffers: types.memory('8MB', 'Memory for write-ahead log not yet written'),
    effective_cache_size: types.memory(
      '16GB',
      "The planner's estimate of the cache of PostgreSQL and the kernel",
    ),
    maintenance_work_mem: types.memory('128MB', 'Memory for one vacuum or index build'),
    max_wal_size: types.memory('4GB', 'Size of write-ahead log that starts a checkpoint'),
    min_wal_size: types.memory('200MB', 'Size of write-ahead log that is kept for reuse'),
    max_worker_processes: types.count.default(16).describe('Most background processes at a time'),
    group_id: z
      .int()
      .nonnegative()
      .default(999)
      .describe(
        'Group id of postgres in the image: 999 in the Debian-based official image, 70 in the Alpine one',
      ),
    shm_size: types.dockerSize
      .default('1gb')
      .describe("Size of /dev/shm in the container, in k, m or g; Docker's 64 MB break parallel queries"),
  }),
  pool_db: section('Server options of the pool database', {
    max_connections: types.connections.default(10000).describe('Most connections at a time'),
  }),
  node: section('Sizes of the node', {
    state_connections: types.count
      .default(800)
      .describe('Most connections of one component to the state database'),
    pool_connections: types.count
      .default(800)
      .describe('Most connections of one component to its pool database'),
  }),
  prover: section(
    'Sizes of the prover: pool_connections has to be more than both numbers of threads together',
    {
      pool_connections: proverSize(
        'pool_connections',
        'Connections to the prover database, all opened at start',
      ),
      executor_threads: proverSize('executor_threads', 'Threads of the executor'),
      hash_db_threads: proverSize('hash_db_threads', 'Threads of the hash database'),
    },
  ),
  snapshot: snapshot.describe('The database snapshots that the deployment starts from'),
  http_api: types.namespaces
    .default([...types.namespaceNames])
    .describe(
      'Namespaces that json-rpc serves, over HTTP and WebSocket; without debug there is no debug endpoint',
    ),
  node_config: overrides.describe(
    'Keys of node.config.toml that differ, as nested mappings; a key that the template does not have is written +Key',
  ),
  prover_config: overrides.describe(
    'Keys of prover.config.json that differ; a key that the template does not have is written +key',
  ),
  firewall: section('Addresses that may connect to published ports, besides the hosts of the inventory', {
    json_rpc: types.ipNetworks
      .optional()
      .describe(
        'Clients of JSON-RPC, HTTP and WebSocket; default: everybody, and where there is a gateway everybody at the gateways only',
      ),
    metrics: types.ipNetworks.default([]).describe('Clients of metrics, such as a monitoring server'),
    internal: types.ipNetworks
      .default([])
      .describe('Clients of databases, provers and all other published ports'),
    connects_from: types.ipNetworks
      .min(1)
      .optional()
      .describe('For one host: its source addresses at other hosts, where they differ from `address`'),
  }),
  container_mtu: types
    .whole(576, 65535)
    .default(1500)
    .describe("MTU of the container network, bytes: at most the host's"),
  container_subnet: types.privateNetwork
    .optional()
    .describe(
      'Addresses of the container network, such as 10.213.7.0/24: private ones, /16 to /28, that the containers need to reach nowhere else. Default: Docker chooses',
    ),
  time_servers: z.array(addressSchema).default([]).describe("NTP servers; empty: the distribution's own"),
  postgresql_repository: types.downloadAddress
    .default('https://apt.postgresql.org/pub/repos/apt')
    .describe(
      'PGDG repository, without user name and password, for hosts whose own sources have no client of version 15',
    ),
  docker_root: section("The disk for Docker's data", {
    disk: types.absolutePath
      .optional()
      .describe('Mount point or block device; default: the largest mounted disk'),
    format: z.boolean().default(false).describe('Whether the blank disk of `disk` may be formatted'),
    temporary_disk: z
      .boolean()
      .default(false)
      .describe(
        'Whether `disk` may be a temporary disk of a cloud: containers and images are lost when the server is stopped, resized or moved',
      ),
  })
    .refine(({ format, disk }) => !format || disk !== undefined, {
      path: ['format'],
      error: 'needs docker_root.disk: only a disk that is named is ever formatted',
    })
    .refine(({ temporary_disk, disk }) => !temporary_disk || disk !== undefined, {
      path: ['temporary_disk'],
      error: 'needs docker_root.disk: a temporary disk is never chosen, only named',
    }),
  disk_alert: section('A message when a disk with data fills up', {
    webhook: z
      .union([types.url, z.literal('journal')])
      .optional()
      .describe(
        'Address for a POST of each alert. journal: alerts are only in the journal of the host; the main network needs one of the two. Default: journal',
      ),
    warn_percent: types.percent
      .default(85)
      .describe('Use of a file system, in per cent, that starts an alert'),
    clear_percent: types.percent.default(80).describe('Use, in per cent, below which the alert is cleared'),
    every_seconds: types.whole(5, 86_400).default(300).describe('Seconds between two checks of the disks'),
  }).refine(({ clear_percent, warn_percent }) => clear_percent < warn_percent, {
    path: ['clear_percent'],
    error: 'must be below disk_alert.warn_percent',
  }),
  monitoring: section('Metrics and alerts; off without a monitor and scrape_from', monitoringShape),
  hardware: z
    .enum(['required', 'advisory'])
    .optional()
    .describe(
      'Whether missing hardware (64 cores of 3050 MHz, 128 GB of memory, 2000 GB of NVMe disk) is an error or a warning; default: required on the main network, advisory on the test network',
    ),
  region: z.string().optional().describe("Region of this host; a host's own `region` is short for it"),
  methods: z
    .enum(['usual', 'heavy'])
    .default('usual')
    .describe(
      'For an RPC server behind gateways: heavy gives it the methods of `gateway.methods.heavy`, and nothing else',
    ),
  gateway: section('The gateways in front of the RPC servers', gatewaySchema, {
    error: movedGatewayKeys,
  }),
  tls: tls
    .optional()
    .describe(
      'Encryption of SQL, replication and backups between the hosts (docs/encryption.md); `false` says that something else protects them, such as a VPN or a private network. Default: plain text, with a warning where an address is public or may be',
    ),
  replica: section('Replicas of the state database; off without a host in group replica', {
    password: secretReferenceSchema
      .optional()
      .describe(
        `Where the password of the role that copies the database server to replicas is, needed with a host in group replica: ${secretReferenceKinds}`,
      ),
    use: z
      .string()
      .min(1)
      .optional()
      .describe(
        'For an RPC server: the replica that it reads, or `none` for the Database+Sync server; default: RPC servers are spread evenly, in the order of the inventory',
      ),
  }),
  backup: section('Backups of the databases; off without a host in group backup', backupSchema),
  verify: section('Attempts of the installation check', {
    attempts: types
      .whole(1, 10_000)
      .default(30)
      .describe('Attempts at one RPC server before the check fails'),
    pause_seconds: z.number().positive().max(3600).default(2).describe('Seconds between two attempts'),
  }),
});

/** The variables of an inventory, checked, with the defaults of the schema. */
export type RawVariables = z.output<typeof variablesSchema>;

type RawSnapshot = RawVariables['snapshot'];

/** User, password and name of one database. */
export interface Credentials extends Omit<RawVariables['credentials']['state'], 'password'> {
  readonly password: Secret;
}

type RawCopy = Pick<RawVariables['backup'], 'copy_to' | 's3' | 'recipients' | 'identity'>;

/** Where the backup host copies its backups, and the recipients of their encryption. */
export interface BackupCopy {
  /** `s3://bucket/folder`. */
  readonly target: string;
  readonly storage: Storage;
  /** Public keys of age, `age1…`; none: nothing is encrypted. */
  readonly recipients: readonly string[];
  /** A private key of age that reads what is encrypted; undefined where the inventory names none. */
  readonly identity?: Secret;
}

/** The two archives of a snapshot, from the inventory or its manifest. */
export interface SnapshotFiles {
  readonly state: z.output<typeof types.download>;
  readonly prover: z.output<typeof types.download>;
  readonly date: string;
  /** Set for a physical one: then both archives are its manifest. */
  readonly physical?: PhysicalSnapshot;
  /** The storage of addresses `s3://bucket/name`, with its keys. */
  readonly s3?: Storage;
}

/** A snapshot of the files of the database server. */
export interface PhysicalSnapshot {
  readonly manifest: PhysicalManifest;
  /** Web address of the folder with its pieces, or its name in a storage; with a slash at the end. */
  readonly folder: string;
}

/** A certificate with those of its issuers, and its private key, in PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: Secret;
  /** Those that it has, and by which clients reach the gateways. */
  readonly names: readonly string[];
}

/** The authority that signs the certificates of the deployment's database servers. */
export interface Authority {
  /** Its certificate, in PEM. */
  readonly certificate: string;
  /** Its certificate, and further ones that clients trust, in PEM. */
  readonly trusted: string;
  readonly key: Secret;
}

/** An API key of clients, with the limits that are its own. */
export interface ApiKey extends Omit<RawVariables['gateway']['keys'][string], 'key'> {
  readonly name: string;
  readonly key: Secret;
}

/** A certificate that each gateway gets by ACME. */
export interface AcmeCertificate {
  readonly acme: {
    /** Contact of the account. */
    readonly email: string;
    /** Web address of the ACME server's directory. */
    readonly directory: string;
    /** Set where it is shown by the DNS that the names are ours. */
    readonly dns?: DnsAccess;
  };
  readonly names: readonly string[];
}

/**
 * The variables of roles and templates: with passwords, and with the defaults of the generation.
 */
export interface Variables
  extends Omit<
    RawVariables,
    'credentials' | 'prover' | 'node_binary' | 'snapshot' | 'gateway' | 'backup' | 'replica' | 'tls'
  > {
  /** undefined where SQL between the hosts is in plain text. */
  readonly tls?: Authority;
  readonly replica: Omit<RawVariables['replica'], 'password'> & { readonly password?: Secret };
  readonly backup: Omit<RawVariables['backup'], 'password' | keyof RawCopy> & {
    readonly password?: Secret;
    /** Of the backup host alone; undefined where nothing is copied. */
    readonly copy?: BackupCopy;
  };
  readonly gateway: Omit<RawVariables['gateway'], 'tls' | 'keys' | 'fallback'> & {
    readonly tls?: Certificate | AcmeCertificate;
    readonly keys: readonly ApiKey[];
    readonly fallback?: Secret;
  };
  readonly prover: Readonly<Record<keyof RawVariables['prover'], number>>;
  readonly node_binary: string;
  readonly snapshot: Omit<RawSnapshot, 'source' | 'manifest' | 'from' | keyof SnapshotFiles> &
    SnapshotFiles & {
      readonly source?: NonNullable<RawSnapshot['source']> & { readonly ref: string };
    };
  readonly credentials: {
    readonly state: Credentials;
    readonly pool: Credentials;
    readonly prover: Credentials;
  };
}
