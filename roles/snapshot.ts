import { proverDatabase, stateDatabase } from '../lib/node/databases.ts';
import { stateIndexes } from '../lib/node/indexes.ts';
import { databasesMayBeRestored, snapshotIsRestored } from '../lib/node/restore.ts';
import { restoreTool } from '../lib/node/restore-tool.ts';
import {
  archivesFit,
  archivesHoldTheirTables,
  archivesOf,
  roomForSnapshot,
  snapshotDirectory,
} from '../lib/node/snapshot.ts';
import type { Variables } from '../lib/node/variables.ts';
import { directory } from '../lib/resource/directory.ts';
import { download } from '../lib/resource/download.ts';
import { meansTo } from '../lib/resource/means-to.ts';
import { packages } from '../lib/resource/packages.ts';
import { role } from '../lib/resource/role.ts';

/** Both databases are restored from a snapshot, once, and the state database has the spec's indexes (spec, Snapshot recovery). */
export default role<Variables>('snapshot', ({ vars }) => {
  const archives = archivesOf(vars);
  const { connections } = vars.snapshot;
  const configuration = `${vars.paths.deployment}/snapshot_restore.toml`;
  const tool = restoreTool(vars, configuration);
  const stores = {
    state: { archive: archives.state, target: stateDatabase(vars) },
    prover: { archive: archives.prover, target: proverDatabase(vars) },
  };
  const restored = snapshotIsRestored({ ...stores, tool, configuration, vars });
  const means = [
    archivesFit(archives, vars.snapshot.date),
    roomForSnapshot(archives, vars.paths.data),
    directory(snapshotDirectory(vars)),
    ...(connections > 1 ? [packages('aria2')] : []),
    download(archives.state.url).to(archives.state.path).connections(connections).sha256(archives.state.sha256),
    download(archives.prover.url).to(archives.prover.path).connections(connections).sha256(archives.prover.sha256),
    archivesHoldTheirTables(archives),
    ...tool.resources,
  ];
  return [
    databasesMayBeRestored(stores, vars.snapshot.replace_existing),
    ...means.map((resource) => meansTo(restored, resource)),
    restored,
    ...stateIndexes(stores.state.target),
  ];
});
