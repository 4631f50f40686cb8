import type { Changes } from '../../../testing/lab-deployment.ts';

/** Removes the lab's smaller sizes, so that the specification's defaults apply. */
export const defaultSizes: Changes = ['state_db', 'pool_db', 'node', 'prover', 'container_mtu'].map((key) => [
  ['vars', key],
  undefined,
]);

/** Images without tags, so that the generation's versions apply. */
export const defaultVersions: Changes = [
  [['vars', 'images', 'node'], 'registry.example/node'],
  [['vars', 'images', 'prover'], 'registry.example/prover'],
  [['vars', 'images', 'database'], undefined],
];
