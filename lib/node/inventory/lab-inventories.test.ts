import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { labDeployment } from '../testing/lab-deployment.ts';
import { loadDeployment } from './inventory.ts';

const folder = new URL('../../../inventory/', import.meta.url);

test.each([
  ['lab', 3],
  ['lab-fleet', 7],
  ['lab-single', 1],
  ['lab-week', 7],
])('inventory/%s.yaml is one of a deployment', async (name, hosts) => {
  const text = readFileSync(new URL(`${name}.yaml`, folder), 'utf8');
  const file = join(dirname(await labDeployment()), `${name}.yaml`);
  // Its passwords are in an encrypted file, which nobody has made yet.
  for (const [, secret = ''] of text.matchAll(/secret:(\w+)/g)) vi.stubEnv(secret, `${secret}.Pw~1`);
  writeFileSync(file, text.replaceAll('secret:', 'env:'));
  const loaded = await loadDeployment(file);
  vi.unstubAllEnvs();
  expect(loaded.hosts.length).toBe(hosts);
});
