import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { canHoldDatabase } from '../databases/data-place.ts';
import { dataDisk, whyDatabasesWouldBeLost } from '../server/data-disk.ts';
import { hardwareFindings } from '../server/hardware.ts';
import { dataFolder, dataFolders } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';
import { known } from './known.ts';

const databaseFolders = ({ groups }: Context<Variables>['host'], vars: Variables) => [
  ...dataFolders(groups, vars).values(),
];

/**
 * A server is large enough: required on the main network and advice on the test network, unless
 * the inventory says otherwise.
 */
export function hardwareSuffices({ facts, vars, host }: Context<Variables>): Resource[] {
  const strictness = vars.hardware ?? (vars.network.kind === 'main' ? 'required' : 'advisory');
  const nevertheless = 'to deploy nevertheless, set hardware: advisory in the inventory';
  return [...hardwareFindings(facts), dataDisk(facts, vars, databaseFolders(host, vars))].map(
    ({ wanted, seen, met, hint }) =>
      known(
        `server has ${wanted}`,
        met ? ok : drift(`it has ${seen}`),
        strictness === 'required'
          ? { hint: hint === undefined ? nevertheless : `${hint}; ${nevertheless}` }
          : { severity: 'should', ...(hint !== undefined && { hint }) },
      ),
  );
}

/**
 * A cloud's temporary disk is often the largest one, and empty after the server was stopped. A link
 * may lead there.
 */
export function databasesLast({ facts, vars, host }: Context<Variables>): Resource {
  const folders = [vars.paths.data, ...databaseFolders(host, vars)];
  return expectation('the databases are on a disk that keeps them', {
    async check(reader) {
      const own = whyDatabasesWouldBeLost(facts, vars, folders);
      if (own !== undefined) return drift(own);
      const targets = (await reader.$`readlink -m -- ${folders}`).lines();
      for (const [at, folder] of folders.entries()) {
        const target = targets[at] ?? folder;
        const why = target === folder ? undefined : whyDatabasesWouldBeLost(facts, vars, [target]);
        if (why !== undefined) return drift(`${folder} leads to ${target}, and ${why}`);
      }
      return ok;
    },
    hint: 'mount a lasting disk, and set paths.data to a folder on it. Where all databases may be lost, set paths.temporary_disk: true',
  });
}

/** The data directories of this host's databases can hold them. */
export function databasesFit({ host, vars, given }: Context<Variables>): Resource[] {
  const isIn = (...groups: readonly string[]) => host.groups.some((group) => groups.includes(group));
  // A recovery asks for itself, as it may put aside what is there.
  const server = isIn('database', 'replica') && given['to-time'] === undefined ? (['state-db'] as const) : [];
  const isUnpacked = vars.snapshot.physical !== undefined;
  const pool = isIn('database', 'rpc') ? (['pool-db'] as const) : [];
  return [...server, ...pool].map((name) =>
    canHoldDatabase(dataFolder(vars, name), isIn('replica') || isUnpacked),
  );
}
