/** Tests of deployments that take more than five minutes each: `npm run faults` runs them. */
export const longDeployments = [
  'backup',
  'killed-engine',
  'monitor',
  'older',
  'physical',
  'restarted',
  'rewind',
  'surroundings',
  'switch',
  'tls',
].map((name) => `test/deploy/${name}.test.ts`);
