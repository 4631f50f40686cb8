import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { counted } from '../../engine/text/counted.ts';
import type { Fault } from '../variables/fault.ts';
import { generationDefaults } from '../variables/generation-defaults.ts';
import { replicaOf } from '../variables/hosts.ts';
import type { RawVariables } from '../variables/variables.ts';

type Host = InventoryHost<RawVariables>;

/**
 * A node has two pools of connections to the state database, each of State.DB.MaxConns (its
 * source, v3.1.0).
 */
const poolsOfNode = 2;

/**
 * The connections that one prover needs, and those that hosts open on the state database that they
 * use.
 */
export function* connectionFaults(all: readonly Host[], { name, groups, vars }: Host): Generator<Fault> {
  const { executor_threads, hash_db_threads, pool_connections } = generationDefaults(vars).prover;
  const threads = executor_threads + hash_db_threads + 1;
  if (threads > pool_connections) {
    yield {
      path: ['prover', 'pool_connections'],
      what: `prover.pool_connections is ${pool_connections}, but the prover needs executor_threads + hash_db_threads + 1 = ${threads}`,
    };
  }
  yield* poolFaults({ groups, vars });
  const isReplica = groups.includes('replica');
  if (!isReplica && !groups.includes('database')) return;
  // Of the Database+Sync server, those of the RPC servers that read no replica.
  const hosts = all.filter((host) => replicaOf(all, host)?.name === (isReplica ? name : undefined));
  const who = all.length === hosts.length ? 'all hosts' : 'its hosts';
  const provers = hosts
    .filter((host) => nodesOf(host).length > 0)
    .map((host) => generationDefaults(host.vars).prover.pool_connections);
  const nodes = hosts.flatMap((host) => nodesOf(host).map(() => host.vars.node.state_connections));
  const opened = sum(provers) + poolsOfNode * sum(nodes);
  const most = vars.state_db.max_connections;
  if (opened < most) return;
  const terms = [...grouped(provers, 'prover', ''), ...grouped(nodes, 'node', `${poolsOfNode} x `)];
  yield {
    path: ['state_db', 'max_connections'],
    what: `state_db.max_connections is ${most}, but ${who} together may open ${opened}: ${terms.join(' + ')}`,
    hint: 'name fewer hosts, lower prover.pool_connections or node.state_connections, or raise state_db.max_connections',
  };
}

/**
 * The connections that the components of the node on a host open on the pool database beside them,
 * one pool each.
 */
function* poolFaults({ groups, vars }: Pick<Host, 'groups' | 'vars'>): Generator<Fault> {
  const nodes = nodesOf({ groups }).map(() => vars.node.pool_connections);
  const opened = sum(nodes);
  const most = vars.pool_db.max_connections;
  if (opened < most) return;
  yield {
    path: ['pool_db', 'max_connections'],
    what: `pool_db.max_connections is ${most}, but the node may open ${opened}: ${grouped(nodes, 'node', '').join('')}`,
    hint: 'lower node.pool_connections, or raise pool_db.max_connections',
  };
}

/**
 * Each of the two groups has a component of the node: the synchronizer or json-rpc. A host of both
 * has one prover.
 */
function nodesOf({ groups }: Pick<Host, 'groups'>): readonly string[] {
  return groups.filter((group) => group === 'database' || group === 'rpc');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** `9 provers x 2000`, for each size. */
function grouped(sizes: readonly number[], name: string, factor: string): string[] {
  return [...new Set(sizes)].map((size) => {
    const number = sizes.filter((each) => each === size).length;
    return `${counted(number, name)} x ${factor}${size}`;
  });
}
