/**
 * Tests of deployments that `npm run faults` runs: they take many minutes, or are of what an inventory
 * may add to the servers of the specification.
 */
export const longDeployments = [
  'backup',
  'docker-root',
  'history',
  'killed-engine',
  'monitor',
  'older',
  'physical',
  'replica',
  'restarted',
  'rewind',
  'single',
  'surroundings',
  'switch',
  'tls',
].map((name) => `test/deploy/${name}.test.ts`);
