import { download } from '../lib/engine/resource/download/download.ts';
import { directory } from '../lib/engine/resource/file/directory.ts';
import { role } from '../lib/engine/resource/role.ts';
import { skipWhen } from '../lib/engine/resource/skip-when.ts';
import { stateIndexes } from '../lib/node/databases/indexes.ts';
import { fetching, keysOfArchives, keysUntil } from '../lib/node/snapshot/ask-file.ts';
import { databasesOf } from '../lib/node/snapshot/database-contents.ts';
import { laterImages } from '../lib/node/snapshot/later-images.ts';
import {
  databasesAreUnused,
  databasesHoldSnapshot,
  databasesMayBeRestored,
  snapshotIsRestored,
} from '../lib/node/snapshot/restore.ts';
import { restoreTool } from '../lib/node/snapshot/restore-tool.ts';
import {
  archivesFit,
  archivesHoldTheirTables,
  archivesOf,
  roomForSnapshot,
  snapshotDirectory,
} from '../lib/node/snapshot/snapshot.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * Both databases are restored from a snapshot, once, and the state database has the indexes of the
 * spec (Snapshot recovery).
 */
export default role<Variables>('snapshot', async (context) => {
  const { vars, given } = context;
  const archives = archivesOf(vars);
  const { connections, physical, s3 } = vars.snapshot;
  const tool = restoreTool(vars, `${vars.paths.deployment}/snapshot_restore.toml`);
  const databases = databasesOf(vars);
  const indexes = stateIndexes(databases.state.target);
  // The files of a physical snapshot, or of a recovery, are there before the server starts.
  if (physical || given['to-time']) return [databasesHoldSnapshot(databases, context), ...indexes];
  const restored = snapshotIsRestored(databases, tool, vars);
  const fetched = [archives.state, archives.prover].map(({ url, path, sha256 }) =>
    download({ ...fetching(url, s3, keysOfArchives), path, connections, sha256 }),
  );
  const keys = keysUntil(s3, keysOfArchives, fetched, [archives.state.url, archives.prover.url]);
  const known = [archivesFit(archives, vars.snapshot), roomForSnapshot(archives, vars)];
  const steps = [
    directory(snapshotDirectory(vars)),
    ...keys.before,
    ...fetched.map((archive) => archive.startedEarly),
    // These take long too, and go on beside the downloads.
    ...tool.resources,
    ...(await laterImages(context, tool.resources)),
    ...keys.needing,
    archivesHoldTheirTables(archives),
  ];
  return [
    databasesMayBeRestored(databases, vars.snapshot.replace_existing),
    // Before the operator is asked to stop what uses the databases.
    ...known.map((resource) => skipWhen(restored, resource)),
    ...(vars.snapshot.replace_existing ? [databasesAreUnused(databases, context.hosts)] : []),
    ...steps.map((resource) => skipWhen(restored, resource)),
    restored,
    ...indexes,
  ];
});
