import { z } from 'zod';
import type { Secret } from '../secret/secret.ts';

/** Seconds, bytes and fractions carry their unit in the description, which also feeds the editor's schema. */
const url = z.url({ protocol: /^(https?|wss?)$/ });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits');
const port = z.int().min(1).max(65535);
const memory = z
  .string()
  .regex(/^[1-9]\d*(kB|MB|GB)$/, 'must be a size as PostgreSQL writes it, such as 128MB or 16GB');
const absolutePath = z
  .string()
  .regex(/^\/[A-Za-z0-9._/-]*$/, 'must be an absolute path of letters, digits, . _ - and /')
  .refine((path) => !path.split('/').includes('..'), 'must not contain ..');
const credential = z
  .string()
  .regex(
    /^[A-Za-z0-9_.~-]+$/,
    'only A-Z a-z 0-9 _ . ~ - are safe in every file that carries it (the node puts it unescaped into a URL)',
  );
const secretReference = z
  .string()
  .regex(
    /^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$/,
    'must be a reference, env:NAME or file:PATH: a password never stands in an inventory',
  )
  .describe('Where the password is: env:NAME or file:PATH (a file of mode 0600, relative to the inventory)');
const archive = z.strictObject({
  url: url.describe('Download address'),
  sha256: sha256.describe('SHA-256 of the archive, hex'),
});
const credentials = z.strictObject({ user: credential, password: secretReference, database: credential });

export const networkSchema = z.strictObject({
  kind: z
    .enum(['main', 'test'])
    .describe('Which of the two networks: decides the snapshot file names and how strictly hardware is judged'),
  region: z.string().optional().describe('Region in which the Database+Sync server has to stand'),
  trusted_sequencer_url: url.describe('Layer-2 RPC address of the trusted sequencer'),
  l1_rpc_url: url.describe('Layer-1 RPC address'),
  chain_id: z.int().positive().describe('Chain id that the genesis file has to name'),
  genesis: z.strictObject({
    url: url.describe('Download address of the genesis file'),
    sha256: sha256.describe('SHA-256 of the genesis file, hex'),
  }),
});

/** Variables of a deployment: for all hosts under `vars`, overridden for one host under its own `vars`. */
export const variablesSchema = z.strictObject({
  generation: z.enum(['current', 'older']).default('current').describe('Generation of configuration and images'),
  network: networkSchema,
  images: z.strictObject({
    node: z.string().min(1).describe('Image of the node'),
    prover: z.string().min(1).describe('Image of the prover'),
    database: z.string().min(1).default('postgres:15').describe('Image of PostgreSQL, major version 15'),
  }),
  registry: z
    .strictObject({
      insecure: z.boolean().default(false).describe('Whether the registry speaks plain HTTP'),
      address: z.string().describe('host:port'),
    })
    .optional()
    .describe("A registry of one's own that the Docker engine has to trust"),
  node_binary: absolutePath.optional().describe("Path of the node binary in its image; default: the generation's"),
  credentials: z.strictObject({ state: credentials, pool: credentials, prover: credentials }),
  paths: z
    .strictObject({
      deployment: absolutePath.default('/opt/rpc-node').describe('Where the rendered files are put'),
      data: absolutePath
        .default('/data')
        .describe('Where database directories and snapshots are kept, unless docker root moves to another disk'),
    })
    .prefault({}),
  ports: z
    .strictObject({
      state_db: port.default(5432),
      pool_db: port.default(5433),
      prover_hash_db: port.default(50061),
      prover_executor: port.default(50071),
      sync_metrics: port.default(9091),
      rpc_http: port.default(8123),
      rpc_websocket: port.default(8133),
      rpc_metrics: port.default(9092),
    })
    .prefault({})
    .describe('Ports published on the host'),
  state_db: z
    .strictObject({
      max_connections: z.int().positive().default(20000),
      shared_buffers: memory.default('16GB'),
      work_mem: memory.default('32MB'),
      wal_buffers: memory.default('8MB'),
      effective_cache_size: memory.default('16GB'),
      maintenance_work_mem: memory.default('128MB'),
      max_wal_size: memory.default('4GB'),
      min_wal_size: memory.default('200MB'),
      max_worker_processes: z.int().positive().default(16),
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
        .describe("/dev/shm of the container; Docker's 64 MB break parallel queries"),
    })
    .prefault({}),
  pool_db: z.strictObject({ max_connections: z.int().positive().default(10000) }).prefault({}),
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
    .prefault({}),
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
    .prefault({}),
  snapshot: z.strictObject({
    state: archive,
    prover: archive,
    date: z.iso.date().describe('Day on which both archives were made, YYYY-MM-DD'),
    replace_existing: z.boolean().default(false).describe('Whether a database that holds other data may be dropped'),
    restore_with: z
      .enum(['source', 'image'])
      .default('source')
      .describe('Build the restore tool from source, or run it from the node image'),
    source: z
      .strictObject({
        repository: z.string().min(1).describe("git address of the node's source"),
        ref: z.string().min(1).describe('Tag or commit to build'),
        go_version: z
          .string()
          .regex(/^\d+\.\d+$/)
          .default('1.21')
          .describe('Lowest Go version that may build it'),
      })
      .optional(),
  }),
  container_mtu: z
    .int()
    .min(576)
    .max(65535)
    .default(1500)
    .describe("MTU of the container network, bytes: no larger than that of the host's own network"),
  time_servers: z.array(z.string().min(1)).default([]).describe("NTP servers; empty: the distribution's own"),
  postgresql_repository: url
    .default('https://apt.postgresql.org/pub/repos/apt')
    .describe('PGDG repository, for distributions whose own client is not version 15'),
  docker_root: z
    .strictObject({
      disk: absolutePath.optional().describe('Mount point or block device to use instead of the largest mounted disk'),
      format: z.boolean().default(false).describe('Whether a blank disk named above may be formatted'),
    })
    .prefault({}),
  disk_alert: z
    .strictObject({
      webhook: url.optional().describe('Where to POST a message when a threshold is crossed'),
      warn_percent: z
        .int()
        .min(1)
        .max(99)
        .default(85)
        .describe('Use of a file system, in per cent, from which to alert'),
      clear_percent: z.int().min(1).max(99).default(80).describe('Use, in per cent, below which the alert is cleared'),
      every_seconds: z.int().min(5).default(300),
    })
    .prefault({}),
  hardware: z
    .enum(['required', 'advisory'])
    .optional()
    .describe('How strictly hardware is judged; default: required on the main network, advisory on the test network'),
  region: z.string().optional().describe('Region in which this host stands'),
  verify: z
    .strictObject({
      attempts: z.int().min(1).default(30),
      pause_seconds: z.number().positive().default(2),
    })
    .prefault({}),
});

/** As the inventory says it, checked, with defaults filled in. */
export type RawVariables = z.output<typeof variablesSchema>;

type RawCredentials = RawVariables['credentials']['state'];
/** User and database name are plain, the password is not. */
export interface Credentials extends Omit<RawCredentials, 'password'> {
  readonly password: Secret;
}

/** What roles and templates are given: passwords are read, and the generation's defaults filled in. */
export interface Variables extends Omit<RawVariables, 'credentials' | 'prover'> {
  readonly prover: Readonly<Record<keyof RawVariables['prover'], number>>;
  readonly credentials: { readonly state: Credentials; readonly pool: Credentials; readonly prover: Credentials };
}
