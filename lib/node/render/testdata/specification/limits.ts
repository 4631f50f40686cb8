import { batchConstraints } from './batch-constraints.ts';

export const absent = 'absent';

/** A value, or undefined for a missing one. */
type Limit = string | number;

/** Spec "Limits": in the node's configuration, under the current section names. */
export const nodeLimits: readonly (readonly [section: string, key: string, current: Limit, older: Limit])[] =
  [
    ['RPC', 'MaxRequestsPerIPAndSecond', 10000, 100],
    ['RPC', 'BatchRequestsLimit', 10000, absent],
    ['RPC', 'ReadTimeout', '360s', '60s'],
    ['RPC', 'WriteTimeout', '360s', '60s'],
    ['Pool', 'MaxTxBytesSize', 100132, absent],
    ['Pool', 'MaxTxDataBytesSize', 100000, absent],
    ['Pool', 'AccountQueue', 100, absent],
    ['Pool', 'GlobalQueue', 10240, absent],
    ['Pool', 'FreeClaimGasLimit', 1500000, absent],
    ['Pool', 'DefaultMinGasPriceAllowed', 6000000, 50000000],
    ['State.DB', 'MaxConns', 800, 800],
    ['Pool.DB', 'MaxConns', 800, 800],
    ['Executor', 'MaxResourceExhaustedAttempts', 5, 5],
    ['Executor', 'WaitOnResourceExhaustion', '1s', '1s'],
    ['Executor', 'MaxGRPCMessageSize', 300000000, 100000000],
    ['Synchronizer', 'SyncChunkSize', 300, 300],
    ['Etherman', 'ForkIDChunkSize', 20000, 20000],
    // "table in Resources", absent.
    ...batchConstraints.map(([section, key, , value]) => [section, key, Number(value), absent] as const),
  ];

/** The same: max_connections of the database servers. */
export const serverLimits = [
  ['state-db', 20000, 20000],
  ['pool-db', 10000, 10000],
] as const;
