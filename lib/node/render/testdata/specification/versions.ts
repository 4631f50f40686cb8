/**
 * Spec part 2, "Image versions" and "Node start command", and "Versioning". The binaries' paths
 * are the images' own.
 */
export const versions = {
  current: { node: 'v3.1.0', prover: 'v6.0.2', nodeBinary: '/app/zkevm-node' },
  older: { node: 'v1.2.3', prover: 'v1.0.0', nodeBinary: '/app/cdk-validium-node' },
} as const;
