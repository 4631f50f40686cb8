/** Tests of deployments that `npm run faults` runs: `npm test` would take twice as long with them. */
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
