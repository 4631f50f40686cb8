import type { Differences } from './older.ts';

/** Spec part 2, "node.config.toml, older configuration (differences only)". */
export const olderNodeConfig: Differences = {
  absent: [
    // Synchronizer: none of these.
    'Synchronizer.L1ParallelSynchronization',
    'Synchronizer.UpgradeEtrogBatchNumber',
    'Synchronizer.L1SynchronizationMode',
    // No State.Batch constraints.
    'State.Batch',
    // RPC batch settings.
    'RPC.BatchRequestsEnabled',
    'RPC.BatchRequestsLimit',
    // Pool: only DefaultMinGasPriceAllowed, and the database, which "Limits" names for both
    // generations.
    'Pool.FreeClaimGasLimit',
    'Pool.IntervalToRefreshBlockedAddresses',
    'Pool.IntervalToRefreshGasPrices',
    'Pool.MaxTxBytesSize',
    'Pool.MaxTxDataBytesSize',
    'Pool.MinAllowedGasPriceInterval',
    'Pool.PollMinAllowedGasPriceInterval',
    'Pool.AccountQueue',
    'Pool.GlobalQueue',
    'Pool.EffectiveGasPrice',
  ],
  renamed: { 'State.DB': 'StateDB' },
  changed: [
    ['RPC', 'ReadTimeout', 'duration', '60s'],
    ['RPC', 'WriteTimeout', 'duration', '60s'],
    ['RPC', 'MaxRequestsPerIPAndSecond', 'integer', 100],
    ['Pool', 'DefaultMinGasPriceAllowed', 'integer', 50000000],
    ['Executor', 'MaxGRPCMessageSize', 'integer', 100000000],
    ['Etherman', 'URL', 'string', '{l1_rpc_url}'],
  ],
  added: [],
};
