import * as z from 'zod';
import { addressSchema } from '../../engine/inventory/schema.ts';
import {
  secretReferenceKinds,
  secretReferencePattern,
  secretReferenceRule,
} from '../../engine/inventory/secret-reference.ts';
import { mostDownloadConnections } from '../../engine/resource/download/download-script.ts';
import { parseIpNetwork } from '../../engine/resource/network/ip-network.ts';
import type { Secret } from '../../engine/secret/secret.ts';

/** RFC 3986: an address goes into files and command lines as it stands, and has to mean the same to every program. */
const webAddress =
  /^[Hh][Tt][Tt][Pp][Ss]?:\/\/(?:[\w.~!$&'()*+,;=:@-]|%[\dA-Fa-f]{2}|\[[\dA-Fa-f:.]+\])+(?:[/?#](?:[\w.~!$&'()*+,;=:@/?#-]|%[\dA-Fa-f]{2})*)?$/;
const url = z
  .string()
  .regex(webAddress, {
    error:
      "must be a web address (http:// or https://), with all but letters, digits and -._~:/?#@!$&'()*+,;= written as %XX",
    abort: true,
  })
  .refine((address) => URL.canParse(address), 'must be a web address (http:// or https://)')
  .meta({ title: 'web address' });
/** What hosts fetch from stands in process lists, files and messages, where no password may be. */
const withoutUser = /^[^/]*\/\/[^@/?#]*(?:[/?#]|$)/;
const downloadAddress = url
  .regex(withoutUser, {
    error: 'must not hold a user name or a password: what stands before @ would be seen by others',
    abort: true,
  })
  .meta({ title: 'web address' });
/** As Docker reads it: a registry, a path in small letters, a tag, a digest. */
const imageName =
  /^(?:[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*(?::\d+)?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::\w[\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,})?$/;
const image = z
  .string()
  .regex(imageName, 'must be the name of an image, such as registry.example/owner/name:tag, its path in small letters')
  .meta({ title: 'image' });
const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits')
  .meta({ title: '64 hex digits' });
const port = z.int().min(1).max(65535).meta({ title: 'port' });
const memory = z
  .string()
  .regex(/^[1-9]\d*(kB|MB|GB)$/, 'must be a size as PostgreSQL writes it, such as 128MB or 16GB')
  .meta({ title: 'size' });
const absolutePath = z
  .string()
  .regex(/^\/[A-Za-z0-9._/-]*$/, { error: 'must be an absolute path of letters, digits, . _ - and /', abort: true })
  .refine((path) => !path.split('/').includes('..'), 'must not contain ..')
  .meta({ title: 'absolute path' });
const folder = absolutePath.refine(
  (path) => /^(\/[^/]+)+$/.test(path) && !path.split('/').includes('.'),
  'must name a folder, with no /./ or // in it and no / at its end',
);
/** Folders of the system (Filesystem Hierarchy Standard): with only root allowed in, nothing works any more. */
const systemFolders =
  /^\/(bin|boot|dev|etc|home|lib\w*|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|(usr|var)\/\w+|(dev|proc|sys)\/.*)$/;
const ownFolder = folder.refine(
  (path) => !systemFolders.test(path),
  "must be a folder of its own, not one of the system's",
);
const ipNetwork = z
  .string()
  .refine((text) => parseIpNetwork(text) !== undefined, 'must be an IP address, or a network such as 10.0.0.0/8')
  .meta({ title: 'IP address or network' });
/** PostgreSQL cuts longer names off. */
const longestName = 63;
const credential = z
  .string()
  .max(longestName)
  .regex(/^[A-Za-z0-9_.~-]+$/, {
    error: 'only A-Z a-z 0-9 _ . ~ - are safe in every file that carries it (the node puts it unescaped into a URL)',
    abort: true,
  })
  .regex(/^\w/, 'must start with a letter, a digit or _')
  .meta({ title: 'name' });
const user = credential.refine(
  (name) => !/^(pg_.*|public|none)$/.test(name),
  'is a name that PostgreSQL keeps to itself',
);
const database = credential.refine(
  (name) => !/^(postgres|template[01])$/.test(name),
  "is one of PostgreSQL's own databases",
);
const secretReference = z
  .string()
  .regex(secretReferencePattern, secretReferenceRule)
  .meta({ title: 'secret reference' })
  .describe(`Where the password is: ${secretReferenceKinds}`);
/** PostgreSQL's own limit on max_connections. */
const mostConnections = 262_143;
const archive = z.strictObject({
  url: downloadAddress.describe('Download address, without user name and password'),
  sha256: sha256.describe('SHA-256 of the archive, in hex'),
});
const credentials = z.strictObject({
  user: user.describe('Database user: at most 63 characters of A-Z a-z 0-9 _ . ~ -'),
  password: secretReference,
  database: database.describe('Name of the database: at most 63 characters of A-Z a-z 0-9 _ . ~ -'),
});

/** What may stand in them depends on the generation's templates: see overrides.ts. */
const overrides = z.record(z.string(), z.unknown()).default({});

export const networkSchema = z.strictObject({
  kind: z
    .enum(['main', 'test'])
    .describe('Which of the two networks: decides the snapshot file names and how strictly hardware is judged'),
  region: z
    .string()
    .optional()
    .describe(
      'Region in which the Database+Sync server has to stand, compared with its `region`; the main network needs it (its operating rules say singapore) and a server elsewhere is an error there, on the test network a warning',
    ),
  trusted_sequencer_url: url.describe('Layer-2 RPC address of the trusted sequencer'),
  l1_rpc_url: url.describe('Layer-1 RPC address'),
  chain_id: z.int().positive().describe('Chain id that the genesis file has to name'),
  genesis: z
    .strictObject({
      url: downloadAddress.describe('Download address of the genesis file, without user name and password'),
      sha256: sha256.describe('SHA-256 of the genesis file, in hex'),
    })
    .describe("The network's genesis file, which the node reads"),
});

/**
 * Variables of a deployment: for all hosts under `vars`, overridden for one host under its own `vars`. Seconds, bytes and fractions
 * carry their unit in the description, which also feeds the editor's schema.
 */
export const variablesSchema = z.strictObject({
  generation: z.enum(['current', 'older']).default('current').describe('Generation of configuration and images'),
  network: networkSchema.describe('The network that the node follows'),
  images: z
    .strictObject({
      node: image.describe(
        "Image of the node; without a tag, the generation's: v3.1.0, in the older generation v1.2.3",
      ),
      prover: image.describe(
        "Image of the prover; without a tag, the generation's: v6.0.2, in the older generation v1.0.0",
      ),
      database: image
        .default('postgres:15')
        .describe(
          'Image of PostgreSQL; without a tag, 15. A tag of another version is refused; one that is no version, and a digest, are taken as they are',
        ),
    })
    .describe('Images of the containers'),
  registry: z
    .strictObject({
      insecure: z.boolean().default(false).describe('Whether the registry speaks plain HTTP'),
      address: z
        .string()
        .regex(/^([A-Za-z0-9][A-Za-z0-9.-]*|\[[\dA-Fa-f:]+\])(:\d{1,5})?$/, 'must be host:port')
        .meta({ title: 'host:port' })
        .describe('Host name or IP address of the registry, with its port'),
    })
    .optional()
    .describe("A registry of one's own that the Docker engine has to trust"),
  node_binary: absolutePath.optional().describe("Path of the node binary in its image; default: the generation's"),
  credentials: z
    .strictObject({
      state: credentials.describe('For the state database; the same on every host'),
      pool: credentials.describe('For the transaction pool, of which every server has its own'),
      prover: credentials.describe(
        "For the prover's database, which is on the state database's server; the same on every host",
      ),
    })
    .describe('Users, passwords and names of the databases; all files that need them get them from here'),
  paths: z
    .strictObject({
      deployment: ownFolder.default('/opt/rpc-node').describe('Where the rendered files are put'),
      data: folder
        .default('/data')
        .describe('Where database directories and snapshots are kept, unless docker root moves to another disk'),
    })
    .prefault({})
    .describe('Folders on the host'),
  ports: z
    .strictObject({
      state_db: port
        .default(5432)
        .describe('State database, on the Database+Sync server; the RPC servers connect to it'),
      pool_db: port.default(5433).describe('Pool database, on every server'),
      prover_hash_db: port.default(50061).describe('Hash database of the prover (gRPC), on every server'),
      prover_executor: port.default(50071).describe('Executor of the prover (gRPC), on every server'),
      sync_metrics: port.default(9091).describe('Metrics of the synchronizer, on the Database+Sync server'),
      rpc_http: port.default(8123).describe('JSON-RPC over HTTP, on the RPC servers'),
      rpc_websocket: port.default(8133).describe('JSON-RPC over WebSocket, on the RPC servers'),
      rpc_metrics: port.default(9092).describe('Metrics of json-rpc, on the RPC servers'),
    })
    .prefault({})
    .describe('TCP ports published on the host'),
  state_db: z
    .strictObject({
      max_connections: z
        .int()
        .positive()
        .max(mostConnections)
        .default(20000)
        .describe(
          'Most connections at a time; the provers of all hosts together open prover.pool_connections each at start',
        ),
      shared_buffers: memory
        .default('16GB')
        .describe('Memory for the cache that all connections share, in kB, MB or GB'),
      work_mem: memory.default('32MB').describe('Memory for one sort or hash of one query, in kB, MB or GB'),
      wal_buffers: memory
        .default('8MB')
        .describe('Memory for the write-ahead log before it is written, in kB, MB or GB'),
      effective_cache_size: memory
        .default('16GB')
        .describe('How much the planner takes to be cached by PostgreSQL and the kernel, in kB, MB or GB'),
      maintenance_work_mem: memory
        .default('128MB')
        .describe('Memory for one vacuum or one build of an index, in kB, MB or GB'),
      max_wal_size: memory
        .default('4GB')
        .describe('Size of the write-ahead log from which a checkpoint is made, in kB, MB or GB'),
      min_wal_size: memory
        .default('200MB')
        .describe('Size up to which the write-ahead log is kept for reuse, in kB, MB or GB'),
      max_worker_processes: z.int().positive().default(16).describe('Most background processes at a time'),
      group_id: z
        .int()
        .nonnegative()
        .default(999)
        .describe(
          'Group id of postgres in the image, which has to read the init script: 999 in the Debian-based official image, 70 in the Alpine one',
        ),
      shm_size: z
        .string()
        .regex(/^[1-9]\d*[kmg]b?$/, 'must be a size as Docker writes it, such as 1gb')
        .default('1gb')
        .meta({ title: 'size' })
        .describe("Size of /dev/shm in the container, in k, m or g; Docker's 64 MB break parallel queries"),
    })
    .prefault({})
    .describe('Server options of the state database'),
  pool_db: z
    .strictObject({
      max_connections: z.int().positive().max(mostConnections).default(10000).describe('Most connections at a time'),
    })
    .prefault({})
    .describe('Server options of the pool database'),
  node: z
    .strictObject({
      state_connections: z
        .int()
        .positive()
        .default(800)
        .describe('Most connections of one node component to the state database'),
      pool_connections: z
        .int()
        .positive()
        .default(800)
        .describe('Most connections of one node component to its pool database'),
    })
    .prefault({})
    .describe('Sizes of the node'),
  prover: z
    .strictObject({
      pool_connections: z
        .int()
        .positive()
        .optional()
        .describe(
          'Connections to the prover database, all opened at start; default: 2000, in the older generation 1000',
        ),
      executor_threads: z.int().positive().optional().describe('Threads of the executor; default: 500'),
      hash_db_threads: z
        .int()
        .positive()
        .optional()
        .describe('Threads of the hash database; default: 300, in the older generation 120'),
    })
    .prefault({})
    .describe('Sizes of the prover: pool_connections has to be more than both numbers of threads together'),
  snapshot: z
    .strictObject({
      state: archive.describe('Archive of the state database (.sql.tar.gz)'),
      prover: archive.describe("Archive of the prover's database (.sql.tar.gz)"),
      date: z.iso
        .date('must be a day, YYYY-MM-DD')
        .meta({ title: 'day' })
        .describe('Day on which both archives were made, YYYY-MM-DD'),
      connections: z
        .int()
        .min(1)
        .max(mostDownloadConnections)
        .default(1)
        .describe(
          'Connections by which each archive is fetched at the same time; more than one needs aria2, which is installed then',
        ),
      replace_existing: z.boolean().default(false).describe('Whether a database that holds other data may be dropped'),
      restore_with: z
        .enum(['source', 'image', 'pg_restore'])
        .default('source')
        .describe(
          "Build the restore tool from source, run it from the node image, or let the host's own pg_restore do its work, by several jobs",
        ),
      restore_jobs: z
        .int()
        .min(1)
        .max(64)
        .optional()
        .describe('Tables and indexes of an archive that pg_restore restores at a time; default: 4'),
      source: z
        .strictObject({
          repository: z
            .string()
            .regex(/^[^\s\p{Cc}-][^\s\p{Cc}]*$/u, 'must be one word that does not start with -')
            .regex(/^(?![Hh][Tt][Tt][Pp][Ss]?:\/\/[^/?#]*@)/, {
              error:
                'must not hold a user name or a password in a web address: what stands before @ would be seen by others',
              abort: true,
            })
            .describe("git address of the node's source; a web address without user name and password"),
          ref: z
            .string()
            .regex(/^[A-Za-z0-9][\w./+-]*$/, 'must be the name of a tag, or a commit')
            .refine((ref) => !ref.includes('..'), 'must not contain ..')
            .optional()
            .describe("Tag or commit to build; default: the generation's version of the node"),
          go_version: z
            .string()
            .regex(/^\d+\.\d+$/)
            .default('1.21')
            .meta({ title: 'version' })
            .describe('Lowest version of Go that may build it, in quotes'),
        })
        .optional()
        .describe('What the restore tool is built from; needed where restore_with is source'),
    })
    .describe('The database snapshots that the deployment starts from'),
  node_config: overrides.describe(
    'Keys of node.config.toml that are to differ, as nested mappings; a key that the template does not have is written +Key',
  ),
  prover_config: overrides.describe(
    'Keys of prover.config.json that are to differ; a key that the template does not have is written +key',
  ),
  firewall: z
    .strictObject({
      json_rpc: z
        .array(ipNetwork)
        .default(['0.0.0.0/0', '::/0'])
        .describe(
          "Who may reach JSON-RPC (HTTP and WebSocket) besides the deployment's own hosts: addresses and networks; default: everybody",
        ),
      metrics: z
        .array(ipNetwork)
        .default([])
        .describe(
          "Who may read metrics besides the deployment's own hosts, such as a monitoring server: addresses and networks",
        ),
      internal: z
        .array(ipNetwork)
        .default([])
        .describe(
          "Who may reach databases, provers and all else that is published besides the deployment's own hosts: addresses and networks",
        ),
      connects_from: z
        .array(ipNetwork)
        .min(1)
        .optional()
        .describe(
          'Addresses that the other hosts see this host come from, where that is not its `address`: said for one host',
        ),
    })
    .prefault({})
    .describe('Who may reach the published ports from outside their host'),
  container_mtu: z
    .int()
    .min(576)
    .max(65535)
    .default(1500)
    .describe("MTU of the container network, bytes: no larger than that of the host's own network"),
  time_servers: z
    .array(addressSchema)
    .default([])
    .describe("NTP servers, host names or IP addresses; empty: the distribution's own"),
  postgresql_repository: downloadAddress
    .default('https://apt.postgresql.org/pub/repos/apt')
    .describe('PGDG repository, without user name and password, for distributions whose own client is not version 15'),
  docker_root: z
    .strictObject({
      disk: absolutePath.optional().describe('Mount point or block device to use instead of the largest mounted disk'),
      format: z.boolean().default(false).describe('Whether a blank disk that `disk` names may be formatted'),
    })
    .prefault({})
    .describe("The disk that holds Docker's data"),
  disk_alert: z
    .strictObject({
      webhook: url
        .optional()
        .describe('Where to POST a message when a threshold is crossed; without it the journal alone has it'),
      warn_percent: z
        .int()
        .min(1)
        .max(99)
        .default(85)
        .describe('Use of a file system, in per cent, from which to alert'),
      clear_percent: z.int().min(1).max(99).default(80).describe('Use, in per cent, below which the alert is cleared'),
      every_seconds: z.int().min(5).max(86_400).default(300).describe('Seconds from one look at the disks to the next'),
    })
    .prefault({})
    .describe('A message when a disk with data fills up'),
  hardware: z
    .enum(['required', 'advisory'])
    .optional()
    .describe(
      'How strictly hardware is judged (64 cores of 3050 MHz, 128 GB of memory, 2000 GB of NVMe disk): an error or a warning; default: required on the main network, advisory on the test network',
    ),
  region: z.string().optional().describe("Region in which this host stands; a host's own `region` is short for it"),
  verify: z
    .strictObject({
      attempts: z
        .int()
        .min(1)
        .max(10_000)
        .default(30)
        .describe('How many times an RPC server is asked before that is a failure'),
      pause_seconds: z.number().positive().max(3600).default(2).describe('Seconds from one time to the next'),
    })
    .prefault({})
    .describe('How long the installation check waits for a good answer'),
});

/** As the inventory says it, checked, with defaults filled in. */
export type RawVariables = z.output<typeof variablesSchema>;

type RawSnapshot = RawVariables['snapshot'];
type RawSource = NonNullable<RawSnapshot['source']>;
type RawCredentials = RawVariables['credentials']['state'];
/** User and database name are plain, the password is not. */
export interface Credentials extends Omit<RawCredentials, 'password'> {
  readonly password: Secret;
}

/** What roles and templates are given: passwords are read, and the generation's defaults filled in. */
export interface Variables extends Omit<RawVariables, 'credentials' | 'prover' | 'node_binary' | 'snapshot'> {
  readonly prover: Readonly<Record<keyof RawVariables['prover'], number>>;
  readonly node_binary: string;
  readonly snapshot: Omit<RawSnapshot, 'source'> & { readonly source?: RawSource & { readonly ref: string } };
  readonly credentials: { readonly state: Credentials; readonly pool: Credentials; readonly prover: Credentials };
}
