/**
 * The containers of a deployment, each a Compose service of that name (spec part 1). A host's
 * Compose file has those of its groups.
 */
export const serviceNames = ['state-db', 'pool-db', 'prover', 'sync', 'json-rpc'] as const;

export type ServiceName = (typeof serviceNames)[number];

/** The services that use the databases: none may run while a database is restored. */
export const databaseClients: readonly string[] = ['sync', 'json-rpc', 'prover'];

/** The containers of the node's image. */
export type NodeContainer = 'sync' | 'json-rpc';

/**
 * The node's containers of a host: sync on the Database+Sync server, json-rpc on an RPC server.
 * One server may be both.
 */
export function nodeContainers(groups: readonly string[]): readonly NodeContainer[] {
  return [
    ...(groups.includes('database') ? ['sync' as const] : []),
    ...(groups.includes('rpc') ? ['json-rpc' as const] : []),
  ];
}
