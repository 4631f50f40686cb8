import type { Facts } from '../lib/engine/host/facts/facts.ts';
import { unfinishedMove } from '../lib/engine/resource/docker/docker-root.ts';
import { imagesBelowDockerRoot } from '../lib/engine/resource/docker/image-store.ts';
import { jsonFile } from '../lib/engine/resource/file/json-file.ts';
import { drift, expectation, ok, type Resource, unknownUntil } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { packages } from '../lib/engine/resource/system/packages.ts';
import { service } from '../lib/engine/resource/system/service.ts';
import { dataIsInItsPlace } from '../lib/node/server/data-disks.ts';
import { product } from '../lib/node/server/product.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const settings = '/etc/docker/daemon.json';

/** The Docker engine and Compose, from the distribution's packages. */
export default role<Variables>('docker', (context) => {
  const { vars, facts, roles } = context;
  const registry = vars.registry?.insecure
    ? [jsonFile(settings, { 'insecure-registries': [vars.registry.address] })]
    : [];
  return [
    // Before anything starts the engine.
    dataIsInItsPlace(context),
    ...(roles?.has('packages') ? [] : [beforeEngine, enginePackages({ facts })]),
    ...registry,
    service('docker', [settings]),
    ...imagesBelowDockerRoot(),
    composeAnswers(),
  ];
});

/** Before anything starts the engine: it must not run while its data is being moved. */
export const beforeEngine = unfinishedMove(product);

/**
 * Names of the packages. Debian 12 has Compose 1.29, which accepts `cpu_shares` in a file of format 3.5 as well. Debian 13 has the
 * client in a package of its own.
 */
function packageNames({ id, version }: Facts['distribution']): readonly string[] {
  if (id === 'ubuntu') return ['docker.io', 'docker-compose-v2', 'iptables'];
  if (Number(version) >= 13) return ['docker.io', 'docker-cli', 'docker-compose', 'iptables'];
  return ['docker.io', 'docker-compose', 'iptables'];
}

/** An engine from Docker's own packages stays: the distribution's packages would remove it. */
export function enginePackages({ facts }: { readonly facts: Facts }): Resource {
  const distributions = packages(...packageNames(facts.distribution));
  const dockers = packages('docker-ce-cli', 'docker-compose-plugin');
  return {
    ...distributions,
    async check(host) {
      const [installed, one, other] = await Promise.all([
        host.package('docker-ce'),
        distributions.check(host),
        dockers.check(host),
      ]);
      return installed.installed ? other : one;
    },
  };
}

function composeAnswers(): Resource {
  return expectation('docker compose answers', {
    check: async (host) => {
      const [docker, plugin, program] = await Promise.all([
        host.$`command -v docker`,
        // With --short no other check takes it for the beginning of a start.
        host.$`docker compose version --short`,
        host.$`docker-compose version --short`,
      ]);
      if (!docker.ok) return unknownUntil('docker is installed');
      if (plugin.ok || program.ok) return ok;
      // 127: the shell does not find the program.
      return program.exitCode === 127
        ? unknownUntil('docker compose is installed')
        : drift('neither docker compose nor docker-compose can be run');
    },
    hint: 'try docker compose version on the host; its package is docker-compose-v2, docker-compose or docker-compose-plugin',
  });
}
