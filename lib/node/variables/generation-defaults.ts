import { generations, postgresVersion, tagOf } from './generation.ts';
import type { RawVariables, SnapshotFiles, Variables } from './variables.ts';

/**
 * The variables with a default of the generation: sizes of the prover, versions, the path of the
 * binary.
 */
export function generationDefaults(vars: RawVariables): Pick<
  Variables,
  'prover' | 'images' | 'node_binary'
> & {
  readonly snapshot: Omit<Variables['snapshot'], keyof SnapshotFiles>;
} {
  const { prover, versions, sourceTag, nodeBinary } = generations[vars.generation];
  const { source, s3: _, ...snapshot } = vars.snapshot;
  return {
    prover: {
      pool_connections: vars.prover.pool_connections ?? prover.pool_connections,
      executor_threads: vars.prover.executor_threads ?? prover.executor_threads,
      hash_db_threads: vars.prover.hash_db_threads ?? prover.hash_db_threads,
    },
    images: {
      ...vars.images,
      node: versioned(vars.images.node, versions.node),
      prover: versioned(vars.images.prover, versions.prover),
      database: versioned(vars.images.database, String(postgresVersion)),
    },
    node_binary: vars.node_binary ?? nodeBinary,
    snapshot: source ? { ...snapshot, source: { ...source, ref: source.ref ?? sourceTag } } : snapshot,
  };
}

/** The image with its own tag or digest, or else with the given version. */
function versioned(image: string, version: string): string {
  return tagOf(image) === undefined && !image.includes('@') ? `${image}:${version}` : image;
}
