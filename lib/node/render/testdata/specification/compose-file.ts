import { type Component, commands, containers, mounts, runs } from './containers.ts';
import type { Row, Server } from './row.ts';

/** The one network that all components join. */
const network = '{deployment name}';

/**
 * Spec part 2, "Container definitions" and the list below it, as a Compose file; the databases'
 * server options are apart.
 */
export function composeFile(server: Server): readonly Row[] {
  return [
    ['', 'version', 'string', '3.5'],
    ['networks.default', 'name', 'string', network],
    // Not in the specification: no larger than that of the host's own network.
    ['networks.default.driver_opts', 'com.docker.network.driver.mtu', 'string', '1500'],
    ...containers.filter(([component]) => runs[server].includes(component)).flatMap(container),
  ];
}

function container([component, restart, rotation, ports, mounted]: (typeof containers)[number]): Row[] {
  const section = `services.${component}`;
  const volumes = mounted.map((file) => mounts[file].replace('{component}', component));
  return [
    [section, 'restart', 'string', restart],
    [section, 'ports', 'string list', ports],
    [section, 'volumes', 'string list', volumes],
    ...(rotation === 'not set' ? [] : logging(section, rotation)),
    ...(component === 'state-db' || component === 'pool-db' ? database(component) : program(component)),
    ...leftOpen(component),
  ];
}

function logging(section: string, [maxSize, maxFile]: readonly [string, string]): Row[] {
  return [
    // Size and count are options of this driver.
    [`${section}.logging`, 'driver', 'string', 'json-file'],
    [`${section}.logging.options`, 'max-size', 'string', maxSize],
    [`${section}.logging.options`, 'max-file', 'string', maxFile],
  ];
}

/**
 * "state-db and pool-db: CPU shares 4096, image ... at major version 15", credentials from
 * environment variables.
 */
function database(component: 'state-db' | 'pool-db'): Row[] {
  const section = `services.${component}`;
  const store = component === 'state-db' ? 'STATE_DB' : 'POOL_DB';
  return [
    [section, 'image', 'string', 'postgres:15'],
    [section, 'cpu_shares', 'integer', 4096],
    [`${section}.environment`, 'POSTGRES_USER', 'string', `<${store}_USER>`],
    [`${section}.environment`, 'POSTGRES_PASSWORD', 'string', `<${store}_PASSWORD>`],
    [`${section}.environment`, 'POSTGRES_DB', 'string', `<${store}_NAME>`],
  ];
}

function program(component: 'prover' | 'sync' | 'json-rpc'): Row[] {
  const section = `services.${component}`;
  const words = commands[component].split(/ (?![^<]*>)/);
  if (component !== 'prover') {
    return [
      [section, 'image', 'string', '{node image}'],
      [section, 'command', 'string list', words],
    ];
  }
  // Images of the prover differ in their entrypoint: it is set explicitly.
  return [
    [section, 'image', 'string', '{prover image}'],
    [section, 'entrypoint', 'string list', words.slice(0, 1)],
    [section, 'command', 'string list', words.slice(1)],
  ];
}

/** Settings that are not in the specification. */
function leftOpen(component: Component): Row[] {
  const section = `services.${component}`;
  // Docker's own 64 MB of shared memory break parallel queries.
  const sharedMemory: Row[] = component === 'state-db' ? [[section, 'shm_size', 'string', '1gb']] : [];
  // Engines may give 1024; the prover opens 2000 connections. The node raises its own limit.
  const isNode = component === 'sync' || component === 'json-rpc';
  const limit = `${section}.ulimits.nofile`;
  const openFiles: Row[] = isNode ? [] : ['soft', 'hard'].map((kind) => [limit, kind, 'integer', 8192]);
  // As long as a stop by the tool waits. Docker's own 10 s may be too few to write everything to
  // disk.
  const patience: Row[] = component.endsWith('-db')
    ? [[section, 'stop_grace_period', 'duration', '120s']]
    : [];
  return [
    [section, 'container_name', 'string', component],
    ...patience,
    [`${section}.labels`, 'rpc-playbooks.config-hash', 'string', `{config hash of ${component}}`],
    ...sharedMemory,
    ...openFiles,
  ];
}
