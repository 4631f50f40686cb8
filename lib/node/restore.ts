import type { Progress, Reader } from '../host/host.ts';
import { job } from '../resource/job.ts';
import { sqlLiteral } from '../resource/postgres.ts';
import { drift, expectation, ok, type Resource } from '../resource/resource.ts';
import { restoreScript } from './restore-script.ts';
import type { RestoreTool } from './restore-tool.ts';
import { lookAtStores, type Store, verdictOf } from './restored.ts';
import { snapshotDirectory } from './snapshot.ts';
import type { Variables } from './variables.ts';

interface Stores {
  readonly state: Store;
  readonly prover: Store;
}

/** A database with data that was not restored by us is left alone, unless the inventory says that it may be replaced. */
export function databasesMayBeRestored(stores: Stores, replaceExisting: boolean): Resource {
  return expectation(
    'databases hold no data that a restore would destroy',
    async (host) => {
      const seen = await lookAtStores(host, stores, replaceExisting);
      if (seen.decision === 'refuse') return drift(seen.description);
      return seen.decision === 'wait' ? verdictOf(seen) : ok;
    },
    {
      hint: 'to drop what is there and restore the snapshot, say snapshot: { replace_existing: true } in the inventory',
    },
  );
}

/** Both databases hold a snapshot that was restored whole: by what stands in them, not by how the restore tool ended. */
export function snapshotIsRestored({
  state,
  prover,
  tool,
  configuration,
  vars,
}: Stores & { readonly tool: RestoreTool; readonly configuration: string; readonly vars: Variables }): Resource {
  const { snapshot, credentials } = vars;
  return job(`snapshot of ${snapshot.date} is restored`, {
    unit: 'rpc-node-restore',
    script: restoreScript({
      state,
      prover,
      proverUser: credentials.prover.user,
      snapshot: snapshot.date,
      tool,
      configuration,
      log: `${snapshotDirectory(vars)}/restore.log`,
    }),
    done: async (host) => verdictOf(await lookAtStores(host, { state, prover }, snapshot.replace_existing)),
    progress: (host) => progressOf(host, { state, prover }),
  });
}

/** What is being copied or indexed, and how large both databases have become. Their final size is not known. */
async function progressOf(host: Reader, { state, prover }: Stores): Promise<Progress | undefined> {
  const databases = [state, prover].map(({ target }) => sqlLiteral(target.database)).join(', ');
  const result = await host.sql(
    state.target,
    `select (select sum(pg_database_size(datname)) from pg_database where datname in (${databases})),
            (select datname from pg_stat_progress_copy where datname in (${databases}) and command = 'COPY FROM' limit 1),
            (select datname || ': ' || phase from pg_stat_progress_create_index where datname in (${databases}) limit 1)`,
  );
  const [size, copied, indexed] = (result.ok && result.rows[0]) || [];
  if (!size) return undefined;
  const what = indexed ? `restoring, ${indexed}` : copied ? `restoring, filling ${copied}` : 'restoring';
  return { what, done: Number(size), unit: 'bytes' };
}
