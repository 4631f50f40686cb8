import type { RawVariables, Variables } from './variables.ts';

/** The files that are rendered for a deployment, by the names that an operator knows them by. */
export const fileNames = [
  'docker-compose.yml',
  'init_prover_db.sql',
  'node.config.toml',
  'prover.config.json',
  'snapshot_restore.toml',
] as const;

export type FileName = (typeof fileNames)[number];

/** What one generation of the node and the prover has of its own, besides the constants in its templates. */
export interface Generation {
  /** Path of the node binary in its image. */
  readonly nodeBinary: string;
  /** Path, in the prover's image, of the file that `zkProver -c` reads. */
  readonly proverConfig: string;
  /** Keys under which the genesis file names the block of creation; all are integers. */
  readonly genesisBlocks: readonly string[];
  /** Keys of the genesis file's `l1Config` that are addresses. */
  readonly genesisContracts: readonly string[];
  /** Sizes of the prover where the inventory names none (spec part 2). */
  readonly prover: Variables['prover'];
  /** Folders of templates, first match first. */
  readonly templates: readonly string[];
}

/** Paths and keys as the programs themselves have them. */
export const generations: Readonly<Record<Variables['generation'], Generation>> = {
  current: {
    nodeBinary: '/app/zkevm-node',
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
    proverConfig: '/usr/src/app/config.json',
    genesisBlocks: ['genesisBlockNumber'],
    genesisContracts: ['cdkValidiumAddress', 'maticTokenAddress', 'cdkDataCommitteeContract'],
    prover: { pool_connections: 1000, executor_threads: 500, hash_db_threads: 120 },
    templates: ['older', 'current'],
  },
};

/** Sizes of the prover: the inventory's, or else the generation's. */
export function proverOf(vars: {
  readonly generation: Variables['generation'];
  readonly prover: RawVariables['prover'];
}): Variables['prover'] {
  const { prover } = generations[vars.generation];
  return {
    pool_connections: vars.prover.pool_connections ?? prover.pool_connections,
    executor_threads: vars.prover.executor_threads ?? prover.executor_threads,
    hash_db_threads: vars.prover.hash_db_threads ?? prover.hash_db_threads,
  };
}

/** The generation that a host's variables name. */
export function generationOf(vars: Pick<Variables, 'generation'>): Generation {
  return generations[vars.generation];
}

/** Path of the node binary: the inventory's, or else the generation's. */
export function nodeBinaryOf(vars: Pick<Variables, 'generation' | 'node_binary'>): string {
  return vars.node_binary ?? generationOf(vars).nodeBinary;
}
