import type { Reader } from '../../engine/host/host.ts';
import { exitCode, Problem } from '../../engine/problem/problem.ts';
import { job } from '../../engine/resource/job/job.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Variables } from '../variables/variables.ts';
import { restoreProgress } from './restore-progress.ts';
import { restoreScript } from './restore-script.ts';
import type { RestoreTool } from './restore-tool.ts';
import { lookAtStores, type Stores } from './restored.ts';
import { snapshotDirectory } from './snapshot.ts';

/** Name of the unit that restores, without `.service`. */
export const restoreUnit = 'rpc-node-restore';

const howToReplace =
  'to drop what is there and restore the snapshot, say snapshot: { replace_existing: true } in the inventory';

/** A database with data that was not restored by us is left alone, unless the inventory says that it may be replaced. */
export function databasesMayBeRestored(stores: Stores, replaceExisting: boolean): Resource {
  return expectation(
    'databases hold no data that a restore would destroy',
    async (host) => {
      const seen = await lookAtStores(host, stores, replaceExisting);
      if (seen.decision === 'refuse') return drift(seen.description);
      return seen.decision === 'wait' ? seen.verdict : ok;
    },
    { hint: howToReplace },
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
  const look = (host: Reader) => lookAtStores(host, { state, prover }, snapshot.replace_existing);
  const restore = job(`snapshot of ${snapshot.date} is restored`, {
    unit: restoreUnit,
    script: restoreScript({
      state,
      prover,
      proverUser: credentials.prover.user,
      snapshot: snapshot.date,
      tool,
      configuration,
      log: `${snapshotDirectory(vars)}/restore.log`,
    }),
    done: async (host) => (await look(host)).verdict,
    progress: (host) => restoreProgress(host, [state, prover]),
  });
  return {
    ...restore,
    async apply(host) {
      // The archives have been fetched since the databases were looked at, which takes hours.
      const { decision, description } = await look(host);
      if (decision === 'refuse')
        throw new Problem(`the databases hold data by now that a restore would destroy: ${description}`, {
          hint: howToReplace,
          code: exitCode.failed,
        });
      await restore.apply(host);
    },
  };
}
