import { outside } from '../../lab/layout.mjs';

import { jsonFile } from '../../lib/engine/resource/file/json-file.ts';
import { packages } from '../../lib/engine/resource/system/packages.ts';
import { applyDrift, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';

/** The registry of the lab. */
const registry = `${outside.address}:5000`;

/** An image of the lab's registry. */
export const postgresImage = `${registry}/postgres:15`;

/**
 * Installs Docker on a bare host, and pulls the image.
 *
 * @param more further packages
 */
export async function installDocker(host: TestHost, ...more: readonly string[]): Promise<void> {
  for (const part of [
    packages('docker.io', 'iptables', ...more),
    jsonFile('/etc/docker/daemon.json', { 'insecure-registries': [registry] }),
  ]) {
    if ((await part.check(host)).is !== 'ok') await applyDrift(host, part);
  }
  await host.run`systemctl restart docker && docker pull --quiet ${postgresImage}`;
}
