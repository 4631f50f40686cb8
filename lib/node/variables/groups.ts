/** A group of hosts. */
export interface Group {
  readonly description: string;
  /** The largest number of hosts in the group. Default: any number. */
  readonly most?: number;
  /** Whether an inventory may be without the group. */
  readonly optional?: true;
}

/** The groups of an inventory: spec part 1, server roles. Each has at least one host; group gateway may be missing. */
export const groups: Readonly<Record<'database' | 'rpc' | 'gateway', Group>> = {
  database: {
    description:
      'The Database+Sync server: state database, pool database, prover, synchronizer. There is only one: two synchronizers on one database corrupt it',
    most: 1,
  },
  rpc: { description: 'The RPC servers, one or more: prover, pool database, json-rpc' },
  gateway: {
    optional: true,
    description:
      'Optional: the gateways in front of the RPC servers, each a host of its own: HAProxy, which sends clients to the RPC servers that may serve',
  },
};
