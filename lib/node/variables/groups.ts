import type { Group } from '../../engine/inventory/schema/json-schema.ts';

/** The groups of a deployment's inventory: spec part 1, server roles. */
export const groups: Readonly<Record<'database' | 'rpc', Group>> = {
  database: {
    description:
      'The Database+Sync server: state database, pool database, prover, synchronizer. There is only ever one: two synchronizers on one database corrupt it',
    most: 1,
  },
  rpc: { description: 'The RPC servers, one or more: prover, pool database, json-rpc' },
};
