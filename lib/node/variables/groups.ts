/** A group of hosts. */
export interface Group {
  readonly description: string;
  /** The largest number of hosts in the group. Default: any number. */
  readonly most?: number;
  /** Whether an inventory may leave it out. Default: it has at least one host. */
  readonly optional?: true;
}

/**
 * The groups of an inventory: spec part 1, server roles, and those that an operator may add. On a
 * test network a host may be in several of database, rpc and gateway.
 */
export const groups: Readonly<
  Record<'database' | 'rpc' | 'replica' | 'monitor' | 'gateway' | 'backup', Group>
> = {
  database: {
    description:
      'The Database+Sync server: state database, pool database, prover, synchronizer. There is only one: two synchronizers on one database corrupt it',
    most: 1,
  },
  rpc: { description: 'The RPC servers, one or more: prover, pool database, json-rpc' },
  replica: {
    description:
      'Servers with a copy of the state database that follows it, which RPC servers read in its place; none: all read the Database+Sync server',
    // PostgreSQL sends its log to ten at a time by default: one of them is the backup host, and a
    // copy that is made needs two.
    most: 7,
    optional: true,
  },
  monitor: {
    description:
      'A server for Prometheus and Alertmanager alone, which watch all others; none: nothing is watched',
    most: 1,
    optional: true,
  },
  backup: {
    description:
      'A server for backups of the databases alone, with Barman; none: a lost Database+Sync server starts from the snapshot again',
    most: 1,
    optional: true,
  },
  gateway: {
    optional: true,
    description:
      'Optional: the gateways in front of the RPC servers: HAProxy, which sends clients to those that may serve',
  },
};
