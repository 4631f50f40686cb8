import type { Differences } from './older.ts';

/** Spec part 2, "Older prover configuration differs in". */
export const olderProverConfig: Differences = {
  absent: ['stateManager'],
  renamed: {},
  changed: [
    ['', 'dbMTCacheSize', 'integer', 6144],
    ['', 'dbProgramCacheSize', 'integer', 6144],
    ['', 'dbNumberOfPoolConnections', 'integer', 1000],
    ['', 'dbGetTree', 'boolean', false],
    ['', 'maxHashDBThreads', 'integer', 120],
    ['', 'saveOutputToFile', 'boolean', false],
    ['', 'saveProofToFile', 'boolean', false],
    ['', 'outputPath', 'string', 'runtime/output'],
    ['', 'aggregatorClientHost', 'string', '127.0.0.1'],
  ],
  added: [
    ['', 'dbConnectionsPool', 'boolean', true],
    ['', 'loadDBToMemCacheInParallel', 'boolean', false],
    ['', 'loadDBToMemTimeout', 'integer', 30000000],
    ['', 'dbReadRetryDelay', 'integer', 100000],
    ['', 'dbMetrics', 'boolean', false],
    ['', 'dbClearCache', 'boolean', false],
    ['', 'executorClientLoops', 'integer', 1],
    ['', 'logExecutorServerTxs', 'boolean', true],
    ['', 'fullTracerTraceReserveSize', 'integer', 262144],
    ['', 'aggregatorClientMockTimeout', 'integer', 10000000],
    ['', 'aggregatorClientWatchdogTimeout', 'integer', 60000000],
  ],
};
