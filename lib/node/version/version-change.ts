import type { ContainerState, Reader } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import type { EveryHost, Resource, Verdict } from '../../engine/resource/resource.ts';
import { containerChange, drift, ok, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { databaseHost, varsOf } from '../variables/hosts.ts';
import { type NodeContainer, nodeContainers } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';
import { databasesAreUnderstood } from './known-migrations.ts';
import { isOfThisVersion, otherVersion } from './node-container.ts';

// json-rpc needs exactly the migrations of its own version, and only the synchronizer migrates the
// state database. So a change of the node's version stops both everywhere before the new
// synchronizer starts.

/** The role that stops the containers of another version. */
const stoppingRole = 'former-version';

/** How long the synchronizer may take to end what it writes. Seconds. */
const stopLimit = 120;

/**
 * Met if no container of the node runs another version. Tasks that only a change of the version
 * needs have it as their goal.
 */
export function versionStays({ host: { groups }, vars }: Context<Variables>): Pick<Resource, 'check'> {
  return {
    check: async (host) => {
      const seen = await Promise.all(
        nodeContainers(groups).map((name) => formerVersionOf(name, vars).check(host)),
      );
      return seen.find(({ is }) => is !== 'ok') ?? ok;
    },
  };
}

function formerVersionOf(container: NodeContainer, vars: Variables): Pick<Resource, 'check'> {
  return {
    check: async (host) => {
      const image = otherVersion(await host.container(container), vars);
      if (image === undefined) return ok;
      const stop = command`docker stop --time ${stopLimit} ${container}`;
      return drift([{ what: container, was: `running ${image}`, wanted: 'stopped' }], [stop]);
    },
  };
}

/**
 * The node's containers of a host are stopped where they run another version. Nothing is stopped
 * on any host unless the run changes the version on all of them.
 */
export function formerVersionIsStopped(context: Context<Variables>): readonly Resource[] {
  return nodeContainers(context.host.groups).map((container) => ({
    name: `${container} of another version is stopped`,
    changes: () => [containerChange(container)],
    everyHost: everyServerChanges(context),
    ...formerVersionOf(container, context.vars),
  }));
}

/**
 * Stops a container of another version within another role, if the run leaves out the role that
 * does so.
 */
export function formerVersionIsStoppedHere(context: Context<Variables>): readonly Resource[] {
  return context.includes(context.host.name, stoppingRole) ? [] : formerVersionIsStopped(context);
}

/**
 * The condition of a stop: the other hosts change with this one, have the new image, and databases
 * that it understands.
 */
function everyServerChanges(context: Context<Variables>): EveryHost {
  const { host: own, hosts, includes, vars } = context;
  const database = databaseHost(hosts).name;
  const migrates = includes(database, 'sync');
  return {
    name: 'all servers change the version of the node together',
    check: async (host) => {
      if (host.name === database && !migrates)
        return synchronizerIsOfThisVersion(await host.container('sync'), vars);
      // From a mirror of its own, perhaps.
      const { node } = varsOf(hosts, host).images;
      const isLeftOut =
        host.name !== database && host.name !== own.name && !includes(host.name, stoppingRole);
      const [states, image, understood] = await Promise.all([
        Promise.all(
          containersOn(host.name, hosts).map(async (name) => [name, await host.container(name)] as const),
        ),
        host.$`docker image inspect --format ${'{{.Id}}'} ${node}`,
        isLeftOut ? ok : databasesAreUnderstood(host, hosts),
      ]);
      const [other] = states.flatMap(([name, state]) => {
        const former = otherVersion(state, vars);
        return former === undefined ? [] : [`${name} runs ${former}`];
      });
      // The database is migrated already.
      if (!migrates || other === undefined) return understood;
      if (host.name !== database && !includes(host.name, stoppingRole)) return leftOut(other);
      if (understood.is !== 'ok') return understood;
      return image.ok ? ok : unknownUntil(`image ${node} is there`);
    },
    hint: `json-rpc needs the migrations of its own version, and only sync makes them: ${deployToAll}`,
  };
}

/**
 * What may run on a host of the inventory: one that is no server of the node now may have been an
 * RPC server before.
 */
function containersOn(name: string, hosts: Context<Variables>['hosts']): readonly NodeContainer[] {
  const containers = nodeContainers(hosts.find((host) => host.name === name)?.groups ?? []);
  return containers.length > 0 ? containers : ['json-rpc'];
}

const deployToAll = 'deploy to all servers with all roles';

/**
 * The condition of a start of the synchronizer, which migrates the state database: no json-rpc of
 * another version runs on any host.
 */
export function noOtherVersionServes({ host: own, hosts, includes, vars }: Context<Variables>): EveryHost {
  return {
    name: 'no json-rpc of another version',
    check: async (host: Reader) => {
      if (!containersOn(host.name, hosts).includes('json-rpc')) return ok;
      const other = otherVersion(await host.container('json-rpc'), vars);
      if (other === undefined) return ok;
      // A run stops it before it comes to the synchronizer, and role sync does so on its own host.
      return host.name === own.name || includes(host.name, stoppingRole)
        ? unknownUntil(`json-rpc of ${other} is stopped`)
        : leftOut(`json-rpc runs ${other}`);
    },
    hint: `json-rpc of another version does not understand a migrated database: ${deployToAll}, which stops it first`,
  };
}

/** Two conditions as one. */
export function both(first: EveryHost, second: EveryHost): EveryHost {
  return {
    name: `${first.name}, and ${second.name}`,
    check: async (...asked) => {
      const [one, other] = await Promise.all([first.check(...asked), second.check(...asked)]);
      return one.is === 'ok' || (one.is === 'unknown' && other.is === 'drift') ? other : one;
    },
    hint: `${first.hint}\n${second.hint}`,
  };
}

function synchronizerIsOfThisVersion(state: ContainerState | undefined, vars: Variables): Verdict {
  if (state?.running && isOfThisVersion(state, vars)) return ok;
  return leftOut(
    state
      ? `sync is ${state.status} with ${state.image}, not running with ${vars.images.node}`
      : 'there is no sync',
  );
}

function leftOut(seen: string): Verdict {
  return drift(`${seen}, and this run does not change that`);
}
