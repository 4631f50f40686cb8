import { docker } from '../../lab/docker.mjs';
import { imageOf } from '../../lab/images.mjs';
import { imageLabel, network, outside } from '../../lab/layout.mjs';
import { jsonFile } from '../../lib/engine/resource/file/json-file.ts';
import { applyDrift } from '../../lib/engine/resource/testing/test-host.ts';
import { type ScratchHost, scratchHost } from './scratch.ts';

/** The registry of the lab. */
const registry = `${outside.address}:5000`;

/** An image of the lab's registry. */
export const postgresImage = `${registry}/postgres:15`;

/** As on a bare host, but no service starts. */
const dockerfile = `FROM ${imageOf('host')}
RUN printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d \\
 && apt-get update && apt-get install -y docker.io docker-compose iptables curl \\
 && rm /usr/sbin/policy-rc.d && apt-get clean && rm -rf /var/lib/apt/lists/*
`;

/**
 * A bare server on which Docker is installed, and that has the image. The installation takes longer
 * than the test of a file, so there is one of it: the engine keeps its image.
 */
export async function dockerHost(): Promise<ScratchHost> {
  const image = imageOf('docker-host');
  const scratch = await scratchHost(async () => {
    const labels = ['--label', `${imageLabel}=docker-host`];
    await docker(['build', '--tag', image, ...labels, '--network', network.name, '-'], { input: dockerfile });
    return image;
  });
  const settings = jsonFile('/etc/docker/daemon.json', { 'insecure-registries': [registry] });
  await applyDrift(scratch.host, settings);
  await scratch.host.run`systemctl restart docker && docker pull --quiet ${postgresImage}`;
  return scratch;
}
