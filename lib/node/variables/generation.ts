/** The rendered files of a deployment. */
const fileNames = [
  'docker-compose.yml',
  'init_prover_db.sql',
  'node.config.toml',
  'prover.config.json',
  'snapshot_restore.toml',
] as const;

export type FileName = (typeof fileNames)[number];

export const generationNames = ['current', 'older'] as const;

export type GenerationName = (typeof generationNames)[number];

/**
 * The facts of one generation of the node and the prover, besides the constants in its templates.
 */
export interface Generation {
  /** Path of the node binary in its image. */
  readonly nodeBinary: string;
  /** Tags of the images for its configuration (spec part 2). */
  readonly versions: { readonly node: string; readonly prover: string };
  /** Tag of the node's source, which has v1.0.0, v2.1.0, v2.1.1 and v3.1.0. */
  readonly sourceTag: string;
  /** Path, in the prover's image, of the file that `zkProver -c` reads. */
  readonly proverConfig: string;
  /** Keys of the genesis file with the block of creation, all integers. */
  readonly genesisBlocks: readonly string[];
  /** Keys of the genesis file's `l1Config` that are addresses. */
  readonly genesisContracts: readonly string[];
  /** Default sizes of the prover (spec part 2). */
  readonly prover: Readonly<Record<'pool_connections' | 'executor_threads' | 'hash_db_threads', number>>;
  /** Folders of templates in the order of the search. */
  readonly templates: readonly string[];
}

/** Paths and keys of the programs themselves. */
export const generations: Readonly<Record<GenerationName, Generation>> = {
  current: {
    nodeBinary: '/app/zkevm-node',
    versions: { node: 'v3.1.0', prover: 'v6.0.2' },
    sourceTag: 'v3.1.0',
    proverConfig: '/usr/src/app/config.json',
    genesisBlocks: ['rollupCreationBlockNumber', 'rollupManagerCreationBlockNumber'],
    genesisContracts: [
      'polygonZkEVMAddress',
      'polygonRollupManagerAddress',
      'polTokenAddress',
      'polygonZkEVMGlobalExitRootAddress',
    ],
    prover: { pool_connections: 2000, executor_threads: 500, hash_db_threads: 300 },
    templates: ['current'],
  },
  older: {
    nodeBinary: '/app/cdk-validium-node',
    versions: { node: 'v1.2.3', prover: 'v1.0.0' },
    sourceTag: 'v1.0.0',
    proverConfig: '/usr/src/app/config.json',
    genesisBlocks: ['genesisBlockNumber'],
    genesisContracts: ['cdkValidiumAddress', 'maticTokenAddress', 'cdkDataCommitteeContract'],
    prover: { pool_connections: 1000, executor_threads: 500, hash_db_threads: 120 },
    templates: ['older', 'current'],
  },
};

/** The generation of a host. */
export function generationOf(vars: { readonly generation: GenerationName }): Generation {
  return generations[vars.generation];
}

/**
 * Major version of PostgreSQL (spec part 1), which is that of the archives. No other version can
 * use its data directory.
 */
export const postgresVersion = 15;

/** PostgreSQL's own programs of that version, where Debian's packages and PostgreSQL's have them. */
export const postgresPrograms = `/usr/lib/postgresql/${postgresVersion}/bin`;

/** The version of an image: its tag, or else its digest, or else its whole name. */
export function versionOf(image: string): string {
  return tagOf(image) ?? image.split('@')[1] ?? image;
}

/**
 * The tag of an image: the part after the last `:` that is neither a registry's port nor in a
 * digest.
 */
export function tagOf(image: string): string | undefined {
  return /^[^@]*:([^/:@]+)(?:@|$)/.exec(image)?.[1];
}
