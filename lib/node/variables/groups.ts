/** A group of hosts. */
export interface Group {
  readonly description: string;
  /** The largest number of hosts in the group. Default: any number. */
  readonly most?: number;
}

/** The groups of an inventory: spec part 1, server roles. Each has at least one host. On a test network a host may be in both. */
export const groups: Readonly<Record<'database' | 'rpc', Group>> = {
  database: {
    description:
      'The Database+Sync server: state database, pool database, prover, synchronizer. There is only one: two synchronizers on one database corrupt it',
    most: 1,
  },
  rpc: { description: 'The RPC servers, one or more: prover, pool database, json-rpc' },
};
