import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { Failure } from '../../engine/problem/problem.ts';
import { job } from '../../engine/resource/job/job.ts';
import { drift, expectation, ok, type Resource, type Work } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { sqlLiteral, unknownWithoutAnswer } from '../databases/postgres.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { databaseClients } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';
import { assessDatabases, type SnapshotDatabases } from './database-contents.ts';
import { restoreProgress } from './restore-progress.ts';
import type { RestoreTool } from './restore-tool.ts';
import { snapshotDirectory } from './snapshot.ts';

const script = readFileSync(new URL('../../../templates/host/restore-snapshot.sh', import.meta.url), 'utf8');

/** Name of the unit that restores, without `.service`. */
const restoreUnit = 'rpc-node-restore';

const howToReplace =
  'to drop what is there and restore the snapshot, set snapshot: { replace_existing: true } in the inventory';

/**
 * A database with data that we did not restore is left alone, unless the inventory says that it
 * may be replaced.
 */
export function databasesMayBeRestored(databases: SnapshotDatabases, replaceExisting: boolean): Resource {
  return expectation('databases hold no data that a restore would destroy', {
    check: async (host) => {
      const { decision, description, verdict } = await assessDatabases(host, databases, replaceExisting);
      if (decision === 'refuse') return drift(description);
      return decision === 'wait' ? verdict : ok;
    },
    hint: howToReplace,
  });
}

/** Both databases hold a snapshot where none is restored into a running server. */
export function databasesHoldSnapshot(
  databases: SnapshotDatabases,
  { vars, given }: Pick<Context<Variables>, 'vars' | 'given'>,
): Resource {
  const ofRecovery =
    'a recovery restores no snapshot: recover to a time after the restore, or deploy, which restores the snapshot of the inventory';
  const ofPhysical = `a physical snapshot is put into an empty data directory only. If nothing there is needed: stop ${databaseClients.join(', ')} on all hosts, docker rm -f state-db, rename ${dataFolder(vars, 'state-db')}, and deploy again`;
  return expectation('databases hold a snapshot', {
    check: async (host) => {
      const { decision, description, verdict } = await assessDatabases(host, databases, false);
      if (decision === 'keep') return ok;
      return decision === 'wait' ? verdict : drift(description);
    },
    hint: given['to-time'] === undefined ? ofPhysical : ofRecovery,
  });
}

/**
 * Nothing uses databases that are to be replaced. The restore itself refuses as well; this check
 * comes before the archives are downloaded, which takes hours.
 *
 * @param hosts of the inventory, to name the clients
 */
export function databasesAreUnused(
  databases: SnapshotDatabases,
  hosts: readonly Pick<InventoryHost<Variables>, 'name' | 'connection'>[],
): Resource {
  const { container } = databases.state.target;
  const names = [databases.state, databases.prover]
    .map(({ target }) => sqlLiteral(target.database))
    .join(', ');
  const clientsQuery = `select distinct host(client_addr) from pg_stat_activity where datname in (${names}) and client_addr is not null`;
  return expectation('nothing uses the databases that are to be replaced', {
    check: async (host) => {
      const [{ decision, interrupted, verdict }, unit, containers, state, clients] = await Promise.all([
        assessDatabases(host, databases, true),
        host.unit(`${restoreUnit}.service`),
        host.$`docker ps --format ${'{{.Names}}'}`,
        host.container(container),
        host.sql(databases.state.target, clientsQuery),
      ]);
      if (decision === 'wait') return verdict;
      // A restore of ours uses them itself.
      if (decision !== 'restore' || interrupted || unit.active === 'active') return ok;
      if (!clients.ok) return unknownWithoutAnswer(container, state, clients.error);
      const running = containers.lines().filter((name) => databaseClients.includes(name));
      const others = clients.rows.flatMap(([address]) => {
        const known = hosts.find(
          ({ connection }) => connection.type === 'ssh' && connection.address === address,
        );
        if (known) return [`${known.name} (${address})`];
        // Addresses of this host's containers mean nothing to an operator.
        return address && running.length === 0 ? [address] : [];
      });
      const users = [...(running.length > 0 ? [`${running.join(', ')} on ${host.name}`] : []), ...others];
      return users.length === 0 ? ok : drift(`they are used by ${users.join(', ')}`);
    },
    hint: `stop ${databaseClients.join(', ')} on all hosts first: docker stop ${databaseClients.join(' ')}`,
  });
}

/**
 * Both databases hold a complete snapshot: by their contents, not by how the restore tool ended.
 */
export function snapshotIsRestored(databases: SnapshotDatabases, tool: RestoreTool, vars: Variables): Work {
  const { state, prover } = databases;
  const { snapshot, credentials } = vars;
  const assess = (host: Reader) => assessDatabases(host, databases, snapshot.replace_existing);
  const settings = shellSettings({
    ...tool.settings,
    CONTAINER: state.target.container,
    DATABASE_USER: state.target.user,
    STATE_DATABASE: state.target.database,
    STATE_ARCHIVE: state.archive.path,
    STATE_SHA256: state.archive.sha256,
    STATE_TABLE: state.archive.table,
    PROVER_DATABASE: prover.target.database,
    PROVER_ARCHIVE: prover.archive.path,
    PROVER_SHA256: prover.archive.sha256,
    PROVER_TABLE: prover.archive.table,
    PROVER_USER: credentials.prover.user,
    SNAPSHOT: snapshot.date,
    NODE_CONTAINERS: databaseClients.join(' '),
    LOG: `${snapshotDirectory(vars)}/restore.log`,
  });
  const restore = job(`snapshot of ${snapshot.date} is restored`, {
    unit: restoreUnit,
    script: settings + script,
    done: async (host) => (await assess(host)).verdict,
    progress: (host) => restoreProgress(host, [state, prover]),
  });
  return {
    ...restore,
    async work(host) {
      // The download of the archives since the last check takes hours.
      const { decision, description } = await assess(host);
      if (decision === 'refuse')
        throw new Failure(`the databases now hold data that a restore would destroy: ${description}`, {
          hint: howToReplace,
        });
      await restore.work(host);
    },
  };
}
