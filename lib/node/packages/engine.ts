import type { Facts } from '../../engine/host/facts/facts.ts';
import { unfinishedMove } from '../../engine/resource/docker/docker-root.ts';
import { readDocker } from '../../engine/resource/docker/docker-there.ts';
import { containersOutliveEngine } from '../../engine/resource/docker/kept-containers.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  refused,
  unknownUntil,
} from '../../engine/resource/resource.ts';
import { type Packages, packages, packagesThatLack } from '../../engine/resource/system/packages.ts';
import { product } from '../server/product.ts';

/**
 * Before anything starts the engine: it must not run while its data is being moved, and starts
 * with its settings. One that runs gets them before anything restarts it.
 */
export const beforeEngine: readonly Resource[] = [
  unfinishedMove(product),
  ...containersOutliveEngine(product),
];

/**
 * Names of the packages. Debian 12 has Compose 1.29, which accepts `cpu_shares` in a file of
 * format 3.5 as well. Debian 13 has the client in a package of its own.
 */
function packageNames({ id, version }: Facts['distribution']): readonly string[] {
  if (id === 'ubuntu') return ['docker.io', 'docker-compose-v2', 'iptables'];
  if (Number(version) >= 13) return ['docker.io', 'docker-cli', 'docker-compose', 'iptables'];
  return ['docker.io', 'docker-compose', 'iptables'];
}

/**
 * The packages with client and Compose of engines that are not the distribution's, by the engine's
 * package.
 */
const partsOf: Readonly<Record<string, readonly string[]>> = {
  'docker-ce': ['docker-ce-cli', 'docker-compose-plugin'],
  'moby-engine': ['moby-cli', 'moby-compose'],
};

/**
 * What is missing of an engine, its client and Compose. What is there and answers stays, whoever
 * installed it: packages of another source bring the same files, and would replace it or fail on
 * them.
 */
export function enginePackages({ facts }: { readonly facts: Facts }): Packages {
  const names = packageNames(facts.distribution);
  return packagesThatLack(packages(...names).name, async (host) => {
    const [there, absent] = await Promise.all([
      readDocker(host),
      packages(...names, 'apparmor').missing(host),
    ]);
    if (there.refusal) return drift(there.refusal.message, there.refusal);
    if ('is' in absent) return absent;
    const needsAppArmor = there.lacksAppArmor && (there.engine ?? 'docker.io') === 'docker.io';
    const missing = absent.filter((name) => name !== 'apparmor' || needsAppArmor);
    if (there.engine === undefined) return missing;
    const others = missing.filter((name) => name === 'iptables' || name === 'apparmor');
    if (there.client && there.compose !== undefined) return others;
    if (there.engine === 'docker.io') return missing;
    const parts = partsOf[there.engine];
    if (parts === undefined) {
      return refused(
        'docker is there without a client and a Compose that answer, and its source is not known',
        'install Compose version 2 from where that engine is from; docker compose version has to answer',
      );
    }
    const lacking = await packages(...parts).missing(host);
    return 'is' in lacking ? lacking : [...lacking, ...others];
  });
}

/** Compose can be run, and the engine takes its requests. */
export function composeAnswers(): Resource {
  return expectation('docker compose answers', {
    check: async (host) => {
      const there = await readDocker(host);
      if (!there.client) return unknownUntil('docker is installed');
      if (there.compose !== undefined) return ok;
      // Version 1 starts Python, so it is not asked twice where it answers.
      const program = await host.$`docker-compose version --short`;
      // 127: the shell does not find the program.
      if (program.exitCode === 127) return unknownUntil('docker compose is installed');
      return program.ok
        ? drift(`docker-compose is version ${program.text()}, whose requests this engine no longer takes`)
        : drift('neither docker compose nor docker-compose can be run');
    },
    hint: 'try docker compose version on the host; its package is docker-compose-v2, docker-compose or docker-compose-plugin',
  });
}
