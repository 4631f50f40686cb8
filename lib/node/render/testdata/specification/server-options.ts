/**
 * Spec part 2, server options of the databases; `-N` must be before `max_connections`, because the
 * last one counts.
 */
export const serverOptions = {
  'state-db': [
    ['-N', '500'],
    ['max_connections', '20000'],
    ['shared_buffers', '16GB'],
    ['work_mem', '32MB'],
    ['wal_buffers', '8MB'],
    ['effective_cache_size', '16GB'],
    ['maintenance_work_mem', '128MB'],
    ['checkpoint_completion_target', '0.7'],
    ['max_wal_size', '4GB'],
    ['min_wal_size', '200MB'],
    ['max_worker_processes', '16'],
  ],
  'pool-db': [
    ['-N', '500'],
    ['max_connections', '10000'],
  ],
} as const;

export type Database = keyof typeof serverOptions;
