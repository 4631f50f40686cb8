import * as z from 'zod';
import { command } from '../../engine/host/action.ts';
import type { ContainerState, Reader } from '../../engine/host/host.ts';
import type { EveryHost, Resource, Verdict } from '../../engine/resource/resource.ts';
import { containerChange, drift, ok, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { versionOf } from '../variables/generation.ts';
import { databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

// json-rpc needs exactly the migrations of its own version, and only the synchronizer migrates the state database. So a change of the
// node's version stops both everywhere before the new synchronizer starts.

/** The containers of the node's image. */
type NodeContainer = 'sync' | 'json-rpc';

/** The role that stops the containers of another version. */
const stoppingRole = 'former-version';

/** How long the synchronizer may take to end what it writes. Seconds. */
const stopLimit = 120;

/** The part of `docker inspect` that is used: its first word is the node's binary, whose name differs by generation. */
const inspected = z.object({ Config: z.object({ Cmd: z.array(z.string()) }) });

/** The node's container of a host: json-rpc, and on the Database+Sync server sync. */
export function nodeContainer({ host }: Pick<Context<Variables>, 'host'>): NodeContainer {
  return host.groups.includes('database') ? 'sync' : 'json-rpc';
}

/** Goal of what only a change of the version needs: the node's container does not run with another version. */
export function versionStays(context: Context<Variables>): Pick<Resource, 'check'> {
  const container = nodeContainer(context);
  return {
    check: async (host) => {
      const image = otherVersion(await host.container(container), context.vars);
      if (image === undefined) return ok;
      const stop = command`docker stop --time ${stopLimit} ${container}`;
      return drift([{ what: container, was: `running ${image}`, wanted: 'stopped' }], [stop]);
    },
  };
}

/**
 * The node's container of a host is stopped if it runs another version. Nothing is stopped on any host unless the run changes the
 * version on all of them.
 */
export function formerVersionIsStopped(context: Context<Variables>): Resource {
  const container = nodeContainer(context);
  return {
    name: `${container} of another version is stopped`,
    changes: () => [containerChange(container)],
    everyHost: everyServerChanges(context),
    ...versionStays(context),
  };
}

/** Stops a container of another version within another role, if the run leaves out the role that does so. */
export function formerVersionIsStoppedHere(context: Context<Variables>): readonly Resource[] {
  return context.includes(context.host.name, stoppingRole) ? [] : [formerVersionIsStopped(context)];
}

/** The condition of a stop: the other hosts change with this one, and have the new image. */
function everyServerChanges(context: Context<Variables>): EveryHost {
  const { hosts, includes, vars } = context;
  const database = databaseHost(hosts).name;
  const migrates = includes(database, 'sync');
  return {
    name: 'all servers change the version of the node together',
    check: async (host) => {
      if (host.name === database && !migrates) return synchronizerIsOfThisVersion(await host.container('sync'), vars);
      // The database is migrated already.
      if (!migrates) return ok;
      const container = host.name === database ? 'sync' : 'json-rpc';
      const [state, image] = await Promise.all([
        host.container(container),
        host.$`docker image inspect --format ${'{{.Id}}'} ${vars.images.node}`,
      ]);
      const other = otherVersion(state, vars);
      if (other === undefined) return ok;
      if (host.name !== database && !includes(host.name, stoppingRole)) return leftOut(`${container} runs ${other}`);
      return image.ok ? ok : unknownUntil(`image ${vars.images.node} is there`);
    },
    hint: `json-rpc needs the migrations of its own version, and only sync makes them: ${deployToAll}`,
  };
}

const deployToAll = 'deploy to all servers with all roles';

/** The condition of a start of the synchronizer, which migrates the state database: no json-rpc of another version runs on any host. */
export function noOtherVersionServes({ hosts, includes, vars }: Context<Variables>): EveryHost {
  const database = databaseHost(hosts).name;
  return {
    name: 'no json-rpc of another version',
    check: async (host: Reader) => {
      if (host.name === database) return ok;
      const other = otherVersion(await host.container('json-rpc'), vars);
      if (other === undefined) return ok;
      // A run stops it before it comes to the synchronizer.
      return includes(host.name, stoppingRole)
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
    check: async (host, unseen) => {
      const [one, other] = await Promise.all([first.check(host, unseen), second.check(host, unseen)]);
      return one.is === 'ok' || (one.is === 'unknown' && other.is === 'drift') ? other : one;
    },
    hint: `${first.hint}\n${second.hint}`,
  };
}

/** The image of a container that runs another version of the node, or undefined. */
function otherVersion(state: ContainerState | undefined, vars: Variables): string | undefined {
  return state?.running && !isOfThisVersion(state, vars) ? state.image : undefined;
}

function synchronizerIsOfThisVersion(state: ContainerState | undefined, vars: Variables): Verdict {
  if (state?.running && isOfThisVersion(state, vars)) return ok;
  return leftOut(
    state ? `sync is ${state.status} with ${state.image}, not running with ${vars.images.node}` : 'there is no sync',
  );
}

function leftOut(seen: string): Verdict {
  return drift(`${seen}, and this run leaves it out`);
}

/** The same version in another registry has the same migrations. Both generations may have one tag, such as `latest`. */
function isOfThisVersion({ image, raw }: ContainerState, { images, node_binary }: Variables): boolean {
  const binary = inspected.safeParse(raw).data?.Config.Cmd[0];
  return versionOf(image) === versionOf(images.node) && (binary === undefined || binary === node_binary);
}
